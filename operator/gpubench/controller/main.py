"""The operator's process."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from pathlib import Path

import kopf
from kubernetes.aio.client import ApiClient
from kubernetes.aio.config import ConfigException
from prometheus_client import CollectorRegistry, disable_created_metrics

from gpubench.controller.announcements import Announcer
from gpubench.controller.cache import ClusterCache
from gpubench.controller.client import KubernetesClient, load_configuration
from gpubench.controller.counters import ApiCounters, DcgmCounters, ReconcileCounters
from gpubench.controller.dcgm_monitor import DcgmMonitor
from gpubench.controller.events import EventWriter
from gpubench.controller.handlers import Operator, make_registry
from gpubench.controller.health import Health
from gpubench.controller.leadership import Candidacy, lead, release
from gpubench.controller.metrics import ClusterCollector
from gpubench.controller.release_finalizers import release_finalizers
from gpubench.controller.server import serving
from gpubench.controller.settings import OperatorSettings, SettingsError, read_settings
from gpubench.controller.structured_logs import write_structured_logs
from gpubench.controller.watches import watch_children

EXIT_LEASE_LOST = 1
EXIT_BAD_SETTINGS = 2
EXIT_NO_CLUSTER = 3

STOP_SECONDS = 15.0
"""kopf cancels daemons after 8 s."""

logger = logging.getLogger(__name__)


def main(arguments: list[str] | None = None) -> int:
    """Run the operator; return 0 after SIGTERM, 1 where the lease was lost, 2 for bad settings."""
    options = _parse_arguments(arguments)
    write_structured_logs(logging.DEBUG if options.verbose else logging.INFO)
    try:
        settings = read_settings(options.settings) if options.settings else OperatorSettings()
        if options.release_finalizers:
            deployment = os.environ.get("OPERATOR_DEPLOYMENT")
            return asyncio.run(release_finalizers(settings, _own_namespace(), deployment))
        return asyncio.run(_operate(settings))
    except SettingsError as error:
        print(error, file=sys.stderr)
        return EXIT_BAD_SETTINGS
    except ConfigException as error:
        print(f"no cluster: {error}", file=sys.stderr)
        return EXIT_NO_CLUSTER


def _parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="gpubench-operator", description="Run GPUBenchmarks on a Kubernetes cluster."
    )
    parser.add_argument("--settings", type=Path, help="the operator's settings, a YAML file")
    parser.add_argument("--verbose", action="store_true", help="log every step")
    parser.add_argument(
        "--release-finalizers",
        action="store_true",
        help="delete all jobs, take our finalizer off every benchmark, and exit: for uninstalling",
    )
    return parser.parse_args(arguments)


def _own_namespace() -> str:
    return os.environ.get("POD_NAMESPACE", "default")


async def _operate(settings: OperatorSettings) -> int:
    stop = asyncio.Event()
    _stop_on_signals(stop)
    disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no annotations
    registry = CollectorRegistry()
    identity = os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}"
    candidacy = Candidacy(_own_namespace(), settings.lease_name, identity, settings.lease_seconds)
    async with ApiClient(await load_configuration()) as api:
        client = KubernetesClient(api, ApiCounters(registry))
        operator = Operator(
            settings=settings,
            client=client,
            cluster=ClusterCache(),
            announcer=Announcer(EventWriter(client, identity)),
            counters=ReconcileCounters(registry),
            health=Health(),
            dcgm=DcgmCounters(registry),
        )
        registry.register(ClusterCollector(operator.cluster, operator.health))
        async with serving(settings.http_port, registry, operator.health):
            operator.health.is_ready = True
            is_over = await _lead(api, operator, stop, candidacy)
            if not is_over:
                return EXIT_LEASE_LOST
            await release(api, candidacy)
    return 0


async def _lead(
    api: ApiClient, operator: Operator, stop: asyncio.Event, candidacy: Candidacy
) -> bool:
    """Act while the lease is ours; return whether we were asked to stop."""
    has_acted = asyncio.Event()

    async def act() -> None:
        try:
            await _act(operator, stop)
        finally:
            has_acted.set()

    leading = asyncio.create_task(lead(api, candidacy, act))
    ends = [asyncio.create_task(stop.wait()), asyncio.create_task(has_acted.wait())]
    await asyncio.wait([leading, *ends], return_when=asyncio.FIRST_COMPLETED)
    if stop.is_set() and operator.health.is_leader:
        await asyncio.wait(
            [leading, ends[1]], timeout=STOP_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
    for task in (leading, *ends):
        task.cancel()
    await asyncio.gather(leading, *ends, return_exceptions=True)
    if not stop.is_set():
        logger.error("the lease is lost or the watches have ended; exiting")
    return stop.is_set()


async def _act(operator: Operator, stop: asyncio.Event) -> None:
    """Watch and reconcile until asked to stop."""
    operator.health.is_leader = True
    namespaces = operator.settings.namespaces
    ready = asyncio.Event()
    watching = asyncio.ensure_future(
        kopf.operator(
            registry=make_registry(operator),
            standalone=True,
            clusterwide=not namespaces,
            namespaces=namespaces,
            stop_flag=stop,
            ready_flag=ready,
        )
    )
    children = asyncio.create_task(
        watch_children(operator.client, operator.cluster, operator.health, namespaces)
    )
    looking = asyncio.create_task(_look_at_gpus(operator))
    try:
        await asyncio.wait(
            [watching, asyncio.ensure_future(ready.wait())], return_when=asyncio.FIRST_COMPLETED
        )
        # kopf takes the signals for itself when it starts; we have a lease to give back.
        _stop_on_signals(stop)
        done, _ = await asyncio.wait([watching, children], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        watching.cancel()
        children.cancel()
        looking.cancel()


async def _look_at_gpus(operator: Operator) -> None:
    """Look at the GPUs of runs; runs go on without, whatever happens."""
    settings = operator.settings.dcgm
    if settings.enabled:
        try:
            await DcgmMonitor(operator.cluster, operator.client, settings, operator.dcgm).run()
        except Exception:
            logger.exception("GPUs are not looked at any more, until the operator starts again")


def _stop_on_signals(stop: asyncio.Event) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
