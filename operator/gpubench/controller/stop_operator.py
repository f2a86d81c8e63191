"""Stopping the operator's own Deployment, so that nobody undoes what uninstalling does."""

from __future__ import annotations

import asyncio

from gpubench.controller.client import PODS, KubernetesClient, ResourceType

DEPLOYMENTS = ResourceType("apps/v1", "Deployment", "deployments")
LEASES = ResourceType("coordination.k8s.io/v1", "Lease", "leases")
POLL_SECONDS = 0.5


async def stop_operator(
    client: KubernetesClient, namespace: str, deployment: str, seconds: float = 90
) -> None:
    """Scale a Deployment to nothing and wait until its last pod is gone.

    Raises:
        TimeoutError: pods are left after that many seconds, three times what they have to stop.
    """
    scale = f"{deployment}/scale"
    current = await client.get(DEPLOYMENTS, namespace, scale)
    if current is None:
        return
    await client.merge(DEPLOYMENTS, namespace, scale, {"spec": {"replicas": 0}})
    async with asyncio.timeout(seconds):
        while await _has_live_pods(client, namespace, current["status"]["selector"]):
            await asyncio.sleep(POLL_SECONDS)


async def _has_live_pods(client: KubernetesClient, namespace: str, selector: str) -> bool:
    """Whether a pod may still act; evicted ones stay as objects."""
    phases = [
        pod["status"].get("phase")
        async for pod in client.list(PODS, namespace, label_selector=selector)
    ]
    return any(phase not in ("Succeeded", "Failed") for phase in phases)
