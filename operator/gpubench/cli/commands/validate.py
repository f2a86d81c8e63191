"""gpubench validate: check a file without running anything."""

from __future__ import annotations

from gpubench.cli.errors import reported_errors
from gpubench.cli.inputs import BenchmarkFile, Overrides, read_benchmark


def validate(file: BenchmarkFile, overrides: Overrides = None) -> None:
    """Check a benchmark file: its fields, values and whole sweep."""
    with reported_errors():
        from gpubench.sweep.expansion import expand

        benchmark = read_benchmark(file, overrides)
        plan = expand(benchmark)
        print(f"{file}: valid, {len(plan.points)} points, {len(plan.runs)} runs")
