"""gpubench show on a cluster: a benchmark run by run, or one run attempt by attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.json import JSON
from rich.table import Table
from rich.text import Text

from gpubench.cli.console import make_console
from gpubench.cli.present import print_report
from gpubench.cluster import ClusterChoice, open_cluster
from gpubench.cluster.statuses import status_of, what_happened
from gpubench.sweep.expansion import expand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from gpubench.api.benchmark import Condition, GPUBenchmark
    from gpubench.api.run import GPUBenchmarkRun


def show_on_cluster(name: str, choice: ClusterChoice) -> None:
    """Print what the statuses tell of a benchmark, or of one run.

    Raises:
        ClusterError: there is no such benchmark or run, or the cluster cannot be read.
    """
    cluster = open_cluster(choice)
    from gpubench.cli.on_cluster.reading import read_all, read_report_input, tell_runs_outside
    from gpubench.cluster.resources import find_run

    console = make_console()
    run = find_run(cluster, name)
    if run is not None:
        _print_run(run, console)
        return
    benchmark, runs = read_all(cluster, name)
    _print_head(benchmark, console)
    _print_runs(benchmark, runs, console)
    outside = tell_runs_outside(benchmark, runs)
    if outside:
        console.print(outside, style="yellow", highlight=False)
    print_report(read_report_input(cluster, benchmark, runs), console)


def _print_head(benchmark: GPUBenchmark, console: Console) -> None:
    status = benchmark.status
    if status is None:
        console.print(f"{benchmark.name}: no status yet; is gpubench's operator running?")
        return
    facts = Table.grid(padding=(0, 2))
    facts.add_row("benchmark", Text(benchmark.name, style="bold"))
    facts.add_row("phase", status.phase.value)
    progress = status.progress
    facts.add_row(
        "runs",
        f"{progress.finished}/{progress.total} finished: {progress.succeeded} valid, "
        f"{progress.invalid} invalid, {progress.failed} failed; {progress.running} running",
    )
    for label, moment in (
        ("started", status.start_time),
        ("completed", status.completion_time),
        ("expected", status.estimated_completion_time),
    ):
        if moment:
            facts.add_row(label, moment)
    if status.best:
        facts.add_row("best", f"{status.best.run}, {status.best.throughput:,.0f} samples/s")
    console.print(facts, highlight=False)
    _print_conditions(status.conditions, console)


def _print_conditions(conditions: Sequence[Condition], console: Console) -> None:
    if not conditions:
        return
    table = Table("condition", "status", "reason", "message", box=None, header_style="bold")
    for each in conditions:
        table.add_row(each.type, each.status, each.reason, Text(each.message))
    console.print(table)


def _print_runs(benchmark: GPUBenchmark, runs: Sequence[GPUBenchmarkRun], console: Console) -> None:
    objects = {run.name: run for run in runs}
    plan = expand(benchmark)
    axes = list(plan.points[0].parameters)
    table = Table("run", *axes, "state", "attempts", "what happened", box=None, header_style="bold")
    for run in plan.runs:
        found = objects.get(run.name)
        status = status_of(found)
        values = [str(run.point.parameters.get(axis, "")) for axis in axes]
        attempts = str(len(status.attempts))
        table.add_row(run.name, *values, status.phase, attempts, Text(what_happened(found)))
    console.print(table)


def _print_run(run: GPUBenchmarkRun, console: Console) -> None:
    status = status_of(run)
    console.print(f"{run.name}: {status.phase}", style="bold")
    _print_conditions(status.conditions, console)
    console.print(JSON.from_data(run.spec.to_json_dict()))
    console.print(JSON.from_data(status.to_json_dict()))
