"""What the pod of an attempt printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from gpubench.api.run import GPUBenchmarkRun
from gpubench.backends import ATTEMPT_LABEL, RUN_LABEL
from gpubench.backends.pod_template import CONTAINER
from gpubench.cluster.connection import REQUEST_TIMEOUT, Cluster
from gpubench.cluster.errors import NotFoundError
from gpubench.cluster.pods import list_pods
from gpubench.cluster.statuses import status_of

CHUNK_BYTES = 64 * 1024


def attempt_of(run: GPUBenchmarkRun, wanted: int | None) -> int:
    """Return the attempt that is meant: the one asked for, or the last.

    Raises:
        NotFoundError: there is no such attempt.
    """
    numbers = [attempt.number for attempt in status_of(run).attempts]
    if not numbers:
        msg = f"{run.name} has not been started yet"
        raise NotFoundError(msg)
    if wanted is not None and wanted not in numbers:
        there = ", ".join(str(number) for number in numbers)
        msg = f"--attempt {wanted}: {run.name} has attempts {there}"
        raise NotFoundError(msg)
    return wanted or max(numbers)


def read_log(cluster: Cluster, run: GPUBenchmarkRun, attempt: int) -> Iterator[bytes]:
    """Return the log of an attempt's pod, piece by piece.

    Raises:
        NotFoundError: the pod is gone.
        ClusterError: the log cannot be read: the container has not started, say.
    """
    # Of pods that a job made anew, the last one has the log.
    pods = list_pods(cluster, f"{RUN_LABEL}={run.name},{ATTEMPT_LABEL}={attempt}")
    if not pods:
        msg = (
            f"{run.name}: the pod of attempt {attempt} is gone, and its log with it; where the "
            f"benchmark has a results volume, `gpubench pull {run.spec.benchmark} "
            f"{cluster.options}` brings the log"
        )
        raise NotFoundError(msg)
    pod = pods[0]["metadata"]["name"]
    with cluster.asking(f"log of pod {pod}"):
        # The generated method returns text; this is the response under it.
        response = cast(
            "Any",
            cluster.core.read_namespaced_pod_log(
                pod,
                cluster.namespace,
                container=CONTAINER,
                _preload_content=False,
                _request_timeout=REQUEST_TIMEOUT,
            ),
        )
        yield from response.stream(CHUNK_BYTES)
