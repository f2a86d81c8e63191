"""gpubench run on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpubench.cli import exit_codes
from gpubench.cli.console import make_console
from gpubench.cli.cost import describe_work
from gpubench.cli.present import ReportFormat, print_report, write_report_files
from gpubench.cli.progress_screen import EndedLine, LiveLine, ProgressScreen, Screenful
from gpubench.cli.report_input import read_report_input
from gpubench.cli.stop_request import StopRequest
from gpubench.cli.times import utc_now
from gpubench.local.devices import detect_machine
from gpubench.local.preflight import check_needs
from gpubench.local.run_specs import RunSpecBuilder, check_fits
from gpubench.local.runner import AttemptEnded, Listener, LocalRunner, Snapshot
from gpubench.store import ResultsFolder
from gpubench.sweep.expansion import expand

if TYPE_CHECKING:
    from gpubench.api.benchmark import GPUBenchmark
    from gpubench.api.enums import DeviceKind
    from gpubench.lifecycle import Summary


def run_here(benchmark: GPUBenchmark, output: Path, data: Path, device: DeviceKind | None) -> int:
    """Run a benchmark with its progress on the screen, end with the report; return the exit code.

    Raises:
        CannotRunError, FolderLockedError, ResultsFolderError, SpecError: as `cli.errors` knows.
    """
    console = make_console()
    plan = expand(benchmark)
    machine = detect_machine(device or benchmark.spec.execution.device)
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
            runner = LocalRunner(plan, specs, folder, listener_of(screen))
            summary = runner.run(stop.is_requested)
        report_input = read_report_input(folder)
        print_report(report_input, console)
        written = write_report_files(report_input, folder.path)
    console.print(f"report: {written[ReportFormat.HTML]}", soft_wrap=True, highlight=False)
    return _exit_code(summary, interrupted=stop.requested)


def listener_of(screen: ProgressScreen) -> Listener:
    """Return what a runner tells, as lines for the screen."""
    return Listener(
        on_snapshot=lambda snapshot: screen.show(screenful_of(snapshot)),
        on_attempt_ended=lambda ended: screen.log(line_of(ended)),
    )


def screenful_of(snapshot: Snapshot) -> Screenful:
    """Return what the screen shows of a snapshot."""
    return Screenful(
        progress=snapshot.summary.progress,
        estimated_completion_at=snapshot.summary.estimated_completion_at,
        live=[LiveLine(run, progress) for run, progress in snapshot.live.items()],
    )


def line_of(ended: AttemptEnded) -> EndedLine:
    """Return the line of an attempt that is over."""
    attempt = ended.attempt
    return EndedLine(
        run=ended.run.name,
        phase=ended.phase,
        attempt=attempt.number,
        throughput=attempt.throughput,
        seconds=attempt.seconds,
        failure=attempt.failure,
        message=attempt.message,
    )


def _exit_code(summary: Summary, *, interrupted: bool) -> int:
    progress = summary.progress
    if progress.succeeded == progress.total:
        return exit_codes.OK
    if interrupted and not summary.is_over:
        return exit_codes.INTERRUPTED
    return exit_codes.RUNS_NOT_VALID
