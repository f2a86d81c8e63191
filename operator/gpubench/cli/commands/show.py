"""gpubench show: one benchmark run by run, or one run attempt by attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gpubench.cli.cluster_options import with_cluster_options
from gpubench.cli.errors import reported_errors
from gpubench.cli.inputs import DEFAULT_RESULTS, ResultsOption, find_results
from gpubench.cluster import ClusterChoice

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from gpubench.analysis.inputs import ReportInput
    from gpubench.store import ResultsFolder, StoredAttempt


@with_cluster_options
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A benchmark, or one of its runs.")],
    output: ResultsOption = DEFAULT_RESULTS,
    cluster: ClusterChoice | None = None,
) -> None:
    """Show a benchmark's runs, or everything known of one run."""
    with reported_errors():
        if cluster is not None:
            from gpubench.cli.on_cluster.showing import show_on_cluster

            show_on_cluster(name, cluster)
            return
        from gpubench.cli.console import make_console
        from gpubench.cli.present import print_report
        from gpubench.cli.report_input import read_report_input

        console = make_console()
        run_folder = _find_run(name, output)
        if run_folder is not None:
            for attempt in run_folder.attempts(name):
                _print_attempt(attempt, console)
            return
        report_input = read_report_input(find_results(name, output))
        _print_runs(report_input, console)
        print_report(report_input, console)


def _find_run(name: str, results: Path) -> ResultsFolder | None:
    from gpubench.store import list_benchmarks

    folders = list_benchmarks(results)
    return next((folder for folder in folders if folder.attempts(name)), None)


def _print_runs(report_input: ReportInput, console: Console) -> None:
    from rich.table import Table

    table = Table("run", "state", "attempts", "what happened", box=None, header_style="bold")
    for run in report_input.runs:
        what = ""
        if run.failure is not None:
            what = f"{run.failure.failure_class}: {run.failure.message}"
        elif run.result is not None and run.result.validity is not None:
            what = "; ".join(gate.message for gate in run.result.validity.failed_gates)
        table.add_row(run.name, run.state, str(len(run.attempts)), what)
    console.print(table)


def _print_attempt(attempt: StoredAttempt, console: Console) -> None:
    from rich.json import JSON

    console.print(f"{attempt.path}", style="bold", soft_wrap=True)
    if attempt.result is None:
        console.print(attempt.damage or "no result")
    else:
        console.print(JSON.from_data(attempt.result.to_json_dict()))
