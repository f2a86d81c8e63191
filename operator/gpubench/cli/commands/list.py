"""gpubench list: the benchmarks that have results, or that a cluster holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpubench.cli.cluster_options import with_cluster_options
from gpubench.cli.errors import reported_errors
from gpubench.cli.inputs import DEFAULT_RESULTS, ResultsOption
from gpubench.cluster import ClusterChoice


@with_cluster_options
def list_benchmarks(
    output: ResultsOption = DEFAULT_RESULTS,
    everywhere: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Cluster: all namespaces.")
    ] = False,
    cluster: ClusterChoice | None = None,
) -> None:
    """List the benchmarks of a results folder, or of a cluster."""
    with reported_errors():
        if everywhere or cluster is not None:
            from gpubench.cli.on_cluster.listing import print_benchmarks

            print_benchmarks(cluster or ClusterChoice(), everywhere=everywhere)
        else:
            _list_folder(output)


def _list_folder(output: Path) -> None:
    from rich.table import Table

    from gpubench import store
    from gpubench.cli.console import make_console
    from gpubench.cli.report_input import read_summary

    folders = store.list_benchmarks(output)
    if not folders:
        print(
            f"{output}: no results; `gpubench run FILE` makes some, "
            "`gpubench list --backend kubernetes` lists a cluster's"
        )
        return
    table = Table(
        "name", "phase", "runs", "valid", "invalid", "failed", box=None, header_style="bold"
    )
    for folder in folders:
        summary = read_summary(folder)
        progress = summary.progress
        table.add_row(
            folder.path.name,
            summary.phase,
            f"{progress.finished}/{progress.total}",
            str(progress.succeeded),
            str(progress.invalid),
            str(progress.failed),
        )
    make_console().print(table)
