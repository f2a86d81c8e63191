"""Leaving a cluster: no job runs on, and no finalizer of ours holds an object back."""

from __future__ import annotations

import logging
import sys

from kubernetes.aio.client import ApiClient
from prometheus_client import CollectorRegistry

from gpubench.backends.labels import SELECTOR
from gpubench.controller.client import (
    BENCHMARKS,
    JOB_TYPES,
    NOT_FOUND,
    ApiError,
    KubernetesClient,
    Object,
    ResourceType,
    load_configuration,
)
from gpubench.controller.counters import ApiCounters
from gpubench.controller.handlers import FINALIZER
from gpubench.controller.settings import OperatorSettings
from gpubench.controller.stop_operator import LEASES, stop_operator

logger = logging.getLogger(__name__)


async def release_finalizers(
    settings: OperatorSettings, own_namespace: str, deployment: str | None
) -> int:
    """Delete our jobs and take our finalizer off every benchmark; return the exit code.

    The operator would put them back, so its Deployment, where it has one, is stopped first.
    """
    async with ApiClient(await load_configuration()) as api:
        client = KubernetesClient(api, ApiCounters(CollectorRegistry()))
        namespaces: list[str | None] = [*settings.namespaces] or [None]
        try:
            if deployment:
                await stop_operator(client, own_namespace, deployment)
            for namespace in namespaces:
                await _leave(client, namespace)
            await client.delete(LEASES, own_namespace, settings.lease_name)
        except TimeoutError:
            print(f"pods of deployment {own_namespace}/{deployment} do not end", file=sys.stderr)
            return 1
        except ApiError as error:
            print(f"the API server refused: {error}", file=sys.stderr)
            return 1
    return 0


async def _leave(client: KubernetesClient, namespace: str | None) -> None:
    for kind in JOB_TYPES.values():
        for job in await _list_known(client, kind, namespace, label_selector=SELECTOR):
            metadata = job["metadata"]
            await client.delete(kind, metadata["namespace"], metadata["name"])
    for benchmark in await _list_known(client, BENCHMARKS, namespace):
        await _release(client, benchmark["metadata"])


async def _list_known(
    client: KubernetesClient, kind: ResourceType, namespace: str | None, **selectors: str
) -> list[Object]:
    """Return objects of a kind; none where the cluster does not know the kind."""
    try:
        return [item async for item in client.list(kind, namespace, **selectors)]
    except ApiError as error:
        if error.status == NOT_FOUND:
            return []
        raise


async def _release(client: KubernetesClient, metadata: Object) -> None:
    finalizers = metadata.get("finalizers", [])
    kept = [name for name in finalizers if name != FINALIZER]
    if kept == finalizers:
        return
    try:
        # The version guards finalizers that others add in this moment.
        patch = {"metadata": {"finalizers": kept, "resourceVersion": metadata["resourceVersion"]}}
        await client.merge(BENCHMARKS, metadata["namespace"], metadata["name"], patch)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
    logger.info("released %s/%s", metadata["namespace"], metadata["name"])
