"""Pods as plain JSON values, as the API server writes them."""

from __future__ import annotations

from typing import Any, cast

from gpubench.cluster.connection import REQUEST_TIMEOUT, Cluster

Pod = dict[str, Any]


def list_pods(cluster: Cluster, selector: str) -> list[Pod]:
    """Return the pods of the namespace that a selector means, the newest first.

    Raises:
        ClusterError: they cannot be read.
    """
    with cluster.asking(f"pods in namespace {cluster.namespace}"):
        found = cluster.core.list_namespaced_pod(
            cluster.namespace, label_selector=selector, _request_timeout=REQUEST_TIMEOUT
        )
    pods = cast("list[Pod]", cluster.api.sanitize_for_serialization(found)["items"])
    return sorted(pods, key=lambda pod: pod["metadata"]["creationTimestamp"], reverse=True)
