"""gpubench report: tables, plots and provenance of a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpubench.cli import exit_codes
from gpubench.cli.errors import fail, reported_errors
from gpubench.cli.inputs import DEFAULT_RESULTS, BenchmarkName, ResultsOption, find_results


def report(
    name: BenchmarkName,
    output: ResultsOption = DEFAULT_RESULTS,
    to: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to write; by default beside the results."),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="html, markdown, csv, parquet; by default all of them."),
    ] = None,
) -> None:
    """Print a benchmark's report and write it as files."""
    with reported_errors():
        from gpubench.cli.console import make_console
        from gpubench.cli.present import ReportFormat, print_report, write_report_files
        from gpubench.cli.report_input import read_report_input

        try:
            chosen = [ReportFormat(word) for word in formats or ReportFormat]
        except ValueError as error:
            allowed = ", ".join(ReportFormat)
            message = f"--format: {error}; allowed: {allowed}"
            raise fail(message, exit_codes.BAD_INPUT) from None
        folder = find_results(name, output)
        report_input = read_report_input(folder)
        print_report(report_input, make_console())
        target = to or folder.path
        try:
            target.mkdir(parents=True, exist_ok=True)
            written = write_report_files(report_input, target, chosen)
        except OSError as error:
            message = f"--to {target}: cannot write there ({error.strerror})"
            raise fail(message, exit_codes.CANNOT_RUN) from None
        for path in written.values():
            print(path)
