"""gpubench report on a cluster: the tables, from what the statuses hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpubench.cli.console import make_console
from gpubench.cli.present import print_report
from gpubench.cluster import ClusterChoice, open_cluster

if TYPE_CHECKING:
    from gpubench.analysis.inputs import ReportInput


def report_on_cluster(name: str, choice: ClusterChoice) -> ReportInput:
    """Print a benchmark's report, and return what it is made from.

    Raises:
        ClusterError: there is no such benchmark, or the cluster cannot be read.
    """
    cluster = open_cluster(choice)
    from gpubench.cli.on_cluster.reading import read_all, read_report_input, tell_runs_outside

    console = make_console()
    benchmark, runs = read_all(cluster, name)
    report_input = read_report_input(cluster, benchmark, runs)
    print_report(report_input, console)
    outside = tell_runs_outside(benchmark, runs)
    if outside:
        console.print(outside, style="yellow", highlight=False)
    return report_input
