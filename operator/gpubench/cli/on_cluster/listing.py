"""gpubench list on a cluster: the benchmarks of a namespace, or of all."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.table import Table

from gpubench.cli.console import make_console
from gpubench.cli.times import short_duration
from gpubench.cluster import ClusterChoice, open_cluster
from gpubench.cluster.statuses import list_entry


def print_benchmarks(choice: ClusterChoice, *, everywhere: bool) -> None:
    """Print one line per benchmark.

    Raises:
        ClusterError: the cluster cannot be read.
    """
    cluster = open_cluster(choice)
    from gpubench.cluster.resources import list_benchmarks

    manifests = list_benchmarks(cluster, everywhere=everywhere)
    if not manifests:
        where = "this cluster" if everywhere else f"namespace {cluster.namespace}"
        print(f"no benchmarks in {where}; `gpubench run --backend kubernetes FILE` applies one")
        return
    headings = ("NAMESPACE", "NAME", "PHASE", "RUNS", "FAILED", "ETA", "AGE")
    table = Table(*headings, box=None, header_style="bold")
    for manifest in manifests:
        entry = list_entry(manifest, datetime.now(UTC))
        table.add_row(
            entry.namespace,
            entry.name,
            entry.phase,
            entry.runs,
            str(entry.failed),
            "" if entry.time_to_go is None else short_duration(entry.time_to_go),
            short_duration(entry.age),
        )
    make_console().print(table)
