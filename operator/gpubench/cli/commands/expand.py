"""gpubench expand: the runs of a sweep, before any is started."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from gpubench.cli.errors import reported_errors
from gpubench.cli.inputs import (
    DEFAULT_RESULTS,
    BenchmarkFile,
    Overrides,
    ResultsOption,
    read_benchmark,
)

if TYPE_CHECKING:
    from gpubench.sweep.plan import Plan


class ExpandFormat(StrEnum):
    """How the runs are printed."""

    TABLE = "table"
    JSON = "json"


def expand(
    file: BenchmarkFile,
    overrides: Overrides = None,
    output: ResultsOption = DEFAULT_RESULTS,
    output_format: Annotated[
        ExpandFormat, typer.Option("--format", help="Table, or one JSON array.")
    ] = ExpandFormat.TABLE,
) -> None:
    """List a file's runs in their order, and what is left to do of them."""
    with reported_errors():
        from gpubench.cli.cost import describe_work
        from gpubench.store import ResultsFolder
        from gpubench.sweep.expansion import expand as expand_sweep

        benchmark = read_benchmark(file, overrides)
        plan = expand_sweep(benchmark)
        if output_format is ExpandFormat.JSON:
            print(json.dumps(_as_json(plan), indent=1))
        else:
            _print_table(plan)
            print(describe_work(plan, ResultsFolder(output / benchmark.name)))


def _as_json(plan: Plan) -> list[dict[str, object]]:
    return [
        {
            "run": run.name,
            "pointHash": run.point.point_hash,
            "repetition": run.repetition,
            "gpus": run.point.gpus,
            "parameters": dict(run.point.parameters),
            "workload": run.point.workload.to_json_dict(),
        }
        for run in plan.runs
    ]


def _print_table(plan: Plan) -> None:
    from rich.table import Table

    from gpubench.cli.console import make_console

    axes = list(plan.points[0].parameters)
    table = Table("run", *axes, "repetition", box=None, header_style="bold")
    for run in plan.runs:
        values = [str(run.point.parameters.get(axis, "")) for axis in axes]
        table.add_row(run.name, *values, str(run.repetition))
    make_console().print(table)
