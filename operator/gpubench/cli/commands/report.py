"""gpubench report: tables, plots and provenance of a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpubench.cli import exit_codes
from gpubench.cli.cluster_options import with_cluster_options
from gpubench.cli.errors import fail, reported_errors
from gpubench.cli.inputs import DEFAULT_RESULTS, BenchmarkName, ResultsOption, find_results
from gpubench.cluster import ClusterChoice


@with_cluster_options
def report(
    name: BenchmarkName,
    output: ResultsOption = DEFAULT_RESULTS,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where to write files; by default beside the results, and on a cluster nowhere.",
        ),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="html, markdown, csv, parquet; by default all of them."),
    ] = None,
    cluster: ClusterChoice | None = None,
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
        if cluster is not None:
            from gpubench.cli.on_cluster.reporting import report_on_cluster

            if formats and to is None:
                raise fail("--format: on a cluster goes with --to DIR", exit_codes.BAD_INPUT)
            report_input, target = report_on_cluster(name, cluster), to
        else:
            folder = find_results(name, output)
            report_input, target = read_report_input(folder), to or folder.path
            print_report(report_input, make_console())
        if target is None:
            return
        try:
            target.mkdir(parents=True, exist_ok=True)
            written = write_report_files(report_input, target, chosen)
        except OSError as error:
            message = f"--to {target}: cannot write there ({error.strerror})"
            raise fail(message, exit_codes.CANNOT_RUN) from None
        for path in written.values():
            print(path)
