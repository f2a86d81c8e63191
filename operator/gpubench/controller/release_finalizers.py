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
    load_configuration,
)
from gpubench.controller.counters import ApiCounters
from gpubench.controller.handlers import FINALIZER
from gpubench.controller.settings import OperatorSettings

logger = logging.getLogger(__name__)


async def release_finalizers(settings: OperatorSettings) -> int:
    """Delete our jobs and take our finalizer off every benchmark; return the exit code.

    The operator must not run any more, else it puts them back.
    """
    async with ApiClient(await load_configuration()) as api:
        client = KubernetesClient(api, ApiCounters(CollectorRegistry()))
        namespaces: list[str | None] = [*settings.namespaces] or [None]
        try:
            for namespace in namespaces:
                await _leave(client, namespace)
        except ApiError as error:
            print(f"the API server refused: {error}", file=sys.stderr)
            return 1
    return 0


async def _leave(client: KubernetesClient, namespace: str | None) -> None:
    for kind in JOB_TYPES.values():
        try:
            async for job in client.list(kind, namespace, label_selector=SELECTOR):
                metadata = job["metadata"]
                await client.delete(kind, metadata["namespace"], metadata["name"])
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
    async for benchmark in client.list(BENCHMARKS, namespace):
        metadata = benchmark["metadata"]
        kept = [name for name in metadata.get("finalizers", []) if name != FINALIZER]
        if kept != metadata.get("finalizers", []):
            patch = {"metadata": {"finalizers": kept}}
            await client.merge(BENCHMARKS, metadata["namespace"], metadata["name"], patch)
            logger.info("released %s/%s", metadata["namespace"], metadata["name"])
