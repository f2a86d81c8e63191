"""A benchmark of a cluster as the values that a report is made from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gpubench.cluster.resources import get_benchmark, list_runs
from gpubench.cluster.statuses import report_input, runs_outside

if TYPE_CHECKING:
    from gpubench.analysis.inputs import ReportInput
    from gpubench.api.benchmark import GPUBenchmark
    from gpubench.api.run import GPUBenchmarkRun
    from gpubench.cluster.connection import Cluster


def read_all(cluster: Cluster, name: str) -> tuple[GPUBenchmark, list[GPUBenchmarkRun]]:
    """Return a benchmark and its run objects.

    Raises:
        ClusterError: it is not there, or the cluster cannot be read.
    """
    benchmark = get_benchmark(cluster, name)
    return benchmark, list_runs(cluster, benchmark)


def read_report_input(
    cluster: Cluster, benchmark: GPUBenchmark, runs: list[GPUBenchmarkRun]
) -> ReportInput:
    """Return what a report of these statuses is made from."""
    source = f"the statuses in namespace {cluster.namespace} of {cluster.context}"
    return report_input(benchmark, runs, source, datetime.now(UTC))


def tell_runs_outside(benchmark: GPUBenchmark, runs: list[GPUBenchmarkRun]) -> str | None:
    """Return a line about runs that are in the cluster and not in the tables, None without any."""
    outside = runs_outside(benchmark, runs)
    if not outside:
        return None
    return (
        f"{len(outside)} runs in the cluster are not part of the sweep as it stands, and not "
        f"shown: {', '.join(outside[:3])}{', ...' if outside[3:] else ''}"
    )
