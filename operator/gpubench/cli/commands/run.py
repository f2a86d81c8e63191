"""gpubench run: run a benchmark on this machine."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpubench.cli import exit_codes
from gpubench.cli.errors import reported_errors
from gpubench.cli.inputs import (
    DEFAULT_RESULTS,
    BenchmarkFile,
    Overrides,
    ResultsOption,
    read_benchmark,
)

if TYPE_CHECKING:
    from gpubench.api.enums import DeviceKind
    from gpubench.lifecycle import Summary


class DeviceChoice(StrEnum):
    """What to train on."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


def run(
    file: BenchmarkFile,
    output: ResultsOption = DEFAULT_RESULTS,
    overrides: Overrides = None,
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder below which relative dataset paths lie.")
    ] = Path(),
    device: Annotated[
        DeviceChoice, typer.Option(help="auto: as the file says, else the GPUs if there are any.")
    ] = DeviceChoice.AUTO,
) -> None:
    """Run a file on this machine, or go on with it.

    Runs that have a result are not run again; those that failed are. Ctrl-C stops all that runs
    and keeps what finished. Ends with the report.
    """
    with reported_errors():
        from gpubench.cli.console import make_console
        from gpubench.cli.cost import describe_work
        from gpubench.cli.present import ReportFormat, print_report, write_report_files
        from gpubench.cli.progress_screen import ProgressScreen
        from gpubench.cli.report_input import read_report_input
        from gpubench.cli.stop_request import StopRequest
        from gpubench.cli.times import utc_now
        from gpubench.local.devices import detect_machine
        from gpubench.local.preflight import check_needs
        from gpubench.local.run_specs import RunSpecBuilder, check_fits
        from gpubench.local.runner import LocalRunner
        from gpubench.store import ResultsFolder
        from gpubench.sweep.expansion import expand

        console = make_console()
        benchmark = read_benchmark(file, overrides)
        plan = expand(benchmark)
        machine = detect_machine(_device_kind(device) or benchmark.spec.execution.device)
        check_fits(plan, machine)
        specs = RunSpecBuilder.for_plan(benchmark, plan, machine, data)
        folder = ResultsFolder.create(output, benchmark.name)
        with folder.lock.held(utc_now()):
            check_needs(plan, specs, folder.path)
            folder.write_benchmark(benchmark)
            console.print(describe_work(plan, folder), soft_wrap=True, highlight=False)
            stop = StopRequest()
            screen = ProgressScreen(plan, console)
            with stop.listening(), screen:
                runner = LocalRunner(plan, specs, folder, screen.listener)
                summary = runner.run(stop.is_requested)
            report_input = read_report_input(folder)
            print_report(report_input, console)
            written = write_report_files(report_input, folder.path)
        console.print(f"report: {written[ReportFormat.HTML]}", soft_wrap=True, highlight=False)
        raise typer.Exit(_exit_code(summary, interrupted=stop.requested))


def _device_kind(choice: DeviceChoice) -> DeviceKind | None:
    from gpubench.api.enums import DeviceKind

    return None if choice is DeviceChoice.AUTO else DeviceKind(choice.upper())


def _exit_code(summary: Summary, *, interrupted: bool) -> int:
    progress = summary.progress
    if progress.succeeded == progress.total:
        return exit_codes.OK
    if interrupted and not summary.is_over:
        return exit_codes.INTERRUPTED
    return exit_codes.RUNS_NOT_VALID
