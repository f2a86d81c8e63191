"""gpubench list: the benchmarks that have results."""

from __future__ import annotations

from gpubench.cli.errors import reported_errors
from gpubench.cli.inputs import DEFAULT_RESULTS, ResultsOption


def list_benchmarks(output: ResultsOption = DEFAULT_RESULTS) -> None:
    """List the benchmarks of a results folder."""
    with reported_errors():
        from rich.table import Table

        from gpubench import store
        from gpubench.cli.console import make_console
        from gpubench.cli.report_input import read_summary

        folders = store.list_benchmarks(output)
        if not folders:
            print(f"{output}: no results; `gpubench run FILE` makes some")
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
