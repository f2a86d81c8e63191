"""The port at which Prometheus finds a run's live metrics."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry, start_http_server

from gpubench.api.layout import PROGRESS_FILE
from gpubench_workloads.live_metrics.collector import LiveCollector, LiveRun


@contextmanager
def serving_live_metrics(port: int, run: LiveRun, attempt_folder: Path) -> Iterator[None]:
    """Serve /metrics while the block runs, by threads that sleep until they are asked.

    A port that cannot be had is told and costs the run nothing but its live metrics.
    """
    registry = CollectorRegistry()
    registry.register(LiveCollector(run, attempt_folder / PROGRESS_FILE))
    every_address = "::" if socket.has_dualstack_ipv6() else "0.0.0.0"  # noqa: S104 - a pod's own
    try:
        server, thread = start_http_server(port, addr=every_address, registry=registry)
    except (OSError, OverflowError) as error:
        print(f"no live metrics at port {port}: {error}", file=sys.stderr)
        yield
        return
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
