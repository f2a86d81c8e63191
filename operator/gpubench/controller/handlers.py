"""kopf's share: watches of benchmarks and nodes, and one daemon per benchmark.

Handlers are coroutines even where they wait for nothing: kopf calls others in threads.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import kopf

from gpubench.controller.announcements import Announcer
from gpubench.controller.cache import BenchmarkCache, ClusterCache
from gpubench.controller.client import ApiError, KubernetesClient
from gpubench.controller.counters import DcgmCounters, ReconcileCounters
from gpubench.controller.health import Health
from gpubench.controller.reconciler import BenchmarkReconciler
from gpubench.controller.settings import OperatorSettings

FINALIZER = "gpubench.io/operator"
ROUND_SECONDS = 0.1
"""Shortest time from one look at a benchmark to the next: news comes in swarms."""
MAX_BACKOFF_SECONDS = 60.0
CANCELLATION_BACKOFF_SECONDS = 3.0
CANCELLATION_TIMEOUT_SECONDS = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Operator:
    """Everything that handlers share."""

    settings: OperatorSettings
    client: KubernetesClient
    cluster: ClusterCache
    announcer: Announcer
    counters: ReconcileCounters
    health: Health
    dcgm: DcgmCounters


def make_registry(operator: Operator) -> kopf.OperatorRegistry:
    """Return kopf's registry with our handlers."""
    registry = kopf.OperatorRegistry()
    _register_startup(registry, operator.settings)
    _register_login(registry)
    _register_benchmarks(registry, operator)
    if operator.settings.watch_nodes:
        _register_nodes(registry, operator)
    return registry


def _register_startup(registry: kopf.OperatorRegistry, own: OperatorSettings) -> None:
    @kopf.on.startup(registry=registry)
    async def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
        settings.posting.enabled = False
        # Without rights outside its namespaces it may not look for new namespaces and resources.
        settings.scanning.disabled = bool(own.namespaces)
        settings.persistence.finalizer = FINALIZER
        settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(
            prefix="gpubench.io"
        )
        settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(
            prefix="gpubench.io"
        )
        settings.watching.server_timeout = 270
        settings.watching.connect_timeout = 10
        settings.networking.request_timeout = 30


def _register_login(registry: kopf.OperatorRegistry) -> None:
    @kopf.on.login(registry=registry)
    async def log_in(**arguments: Any) -> kopf.ConnectionInfo | None:
        account = kopf.login_with_service_account(**arguments)
        if account is None:
            return kopf.login_with_kubeconfig(**arguments)
        # kopf asks for kubernetes.default.svc, but a cluster need not have DNS.
        server = "https://{KUBERNETES_SERVICE_HOST}:{KUBERNETES_SERVICE_PORT}"
        return replace(account, server=server.format_map(os.environ))


def _register_benchmarks(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    @kopf.on.event("gpubench.io", "v1alpha1", "gpubenchmarks", registry=registry)
    async def take_benchmark(
        type: str | None,  # noqa: A002 - kopf's name
        body: kopf.Body,
        **_: Any,
    ) -> None:
        operator.health.heard()
        metadata = body["metadata"]
        if type == "DELETED":
            operator.cluster.forget(metadata["uid"])
        elif "deletionTimestamp" not in metadata:
            # One that is going has its daemon's word for what it still uses, and nobody after it.
            operator.cluster.benchmark(metadata["uid"]).set_body(_plain(body))

    @kopf.daemon(
        "gpubench.io",
        "v1alpha1",
        "gpubenchmarks",
        registry=registry,
        cancellation_backoff=CANCELLATION_BACKOFF_SECONDS,
        cancellation_timeout=CANCELLATION_TIMEOUT_SECONDS,
    )
    async def look_after(body: kopf.Body, stopped: kopf.DaemonStopped, **_: Any) -> None:
        cache = operator.cluster.benchmark(body["metadata"]["uid"])
        cache.set_body(_plain(body))
        await _look_after(operator, cache, stopped)


def _register_nodes(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    @kopf.on.event("", "v1", "nodes", registry=registry)
    async def take_node(type: str | None, body: kopf.Body, **_: Any) -> None:  # noqa: A002 - kopf's name
        operator.health.heard()
        operator.cluster.take_node(type, _plain(body))


def _plain(body: kopf.Body) -> Mapping[str, Any]:
    """Return the object as a dict that kopf does not change under us."""
    return dict(body)


async def _look_after(
    operator: Operator, cache: BenchmarkCache, stopped: kopf.DaemonStopped
) -> None:
    """Reconcile a benchmark until it is deleted or the operator ends."""
    reconciler = BenchmarkReconciler(
        cache,
        operator.cluster,
        operator.client,
        operator.settings,
        operator.announcer,
        operator.health,
    )
    is_loaded, failures = False, 0
    while not stopped:
        cache.wake.clear()
        started_at = time.monotonic()
        try:
            if not is_loaded:
                await reconciler.children.load()
                is_loaded = True
            delay = await reconciler.reconcile()
            failures = 0
        except ApiError as error:
            failures += 1
            delay = min(2.0**failures, MAX_BACKOFF_SECONDS)
            operator.counters.failures.inc()
            logger.warning("%s: %s; again in %.0f s", reconciler.name, error, delay)
        operator.health.reconciled(reconciler.uid, failed=failures > 0)
        operator.counters.seconds.observe(time.monotonic() - started_at)
        await _wait(cache, stopped, delay)
        with operator.counters.waiting.track_inprogress():
            await asyncio.sleep(max(started_at + ROUND_SECONDS - time.monotonic(), 0.0))
    if stopped.reason and kopf.DaemonStoppingReason.RESOURCE_DELETED in stopped.reason:
        await reconciler.children.delete_all_jobs()
        operator.cluster.forget(reconciler.uid)
        operator.health.forget(reconciler.uid)


async def _wait(cache: BenchmarkCache, stopped: kopf.DaemonStopped, seconds: float) -> None:
    """Wait for news, the end or a time."""
    waits = [asyncio.ensure_future(cache.wake.wait()), asyncio.ensure_future(stopped.wait())]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
