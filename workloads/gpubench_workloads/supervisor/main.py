"""One attempt from its start to its result."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from gpubench.api.enums import DeviceKind, FailureClass
from gpubench.api.layout import LOG_FILE
from gpubench.api.progress import AttemptProgress, Stage
from gpubench.api.result import Failure, RunResult
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.profiling.curtain import hide_environment
from gpubench_workloads.profiling.taking import choose_profiler, take_profile
from gpubench_workloads.reporting.die_with_parent import adopt_orphans, die_with_parent
from gpubench_workloads.reporting.progress_writer import ProgressWriter
from gpubench_workloads.reporting.rank_report import ProfileSource, RankReport, read_rank_report
from gpubench_workloads.sampling.nvml import visible_gpus
from gpubench_workloads.sampling.sampler import GpuSampler
from gpubench_workloads.supervisor.assemble import failed_result, gather_steps, succeeded_result
from gpubench_workloads.supervisor.attempt_folder import make_attempt_folder
from gpubench_workloads.supervisor.classify import Ending, classify
from gpubench_workloads.supervisor.deliver import deliver, hand_over
from gpubench_workloads.supervisor.gates import judge
from gpubench_workloads.supervisor.kernel_kills import kernel_oom_kills
from gpubench_workloads.supervisor.launch import RankProcesses, process_count
from gpubench_workloads.supervisor.preflight import PreflightError, preflight
from gpubench_workloads.supervisor.provenance import build_provenance
from gpubench_workloads.supervisor.watch import StopRequest, watch

EXIT_SUCCEEDED = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_NOT_DELIVERED = 3
DEFAULT_GRACE_SECONDS = 3.0
NAMESPACE_VARIABLE = "GPUBENCH_NAMESPACE"
"""Environment variable that tells a pod its namespace, a label of its live metrics."""


@dataclass(frozen=True)
class Attempt:
    """What is running, where, and since when on both clocks."""

    spec: RunSpec
    folder: Path
    grace_seconds: float
    started_at: datetime
    started_monotonic: float

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started_monotonic


def main(arguments: list[str] | None = None) -> int:
    """Run one attempt and return 0 if it trained to its end, valid or not.

    1: it failed, the result says why. 2: the arguments or the spec cannot be read. 3: the result
    could not be written.
    """
    options = _parse_arguments(arguments)
    if options.parent_pid is not None:
        die_with_parent(options.parent_pid)
    adopt_orphans()
    stop_request = StopRequest()
    folder = Path(options.output)
    try:
        spec_text = Path(options.spec).read_text(encoding="utf-8")
        spec = RunSpec.model_validate_json(spec_text)
    except (OSError, ValidationError) as error:
        print(f"{options.spec}: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    if options.check:
        return _check(spec, folder)
    if options.make_output:
        try:
            make_attempt_folder(folder, spec_text)
        except OSError as error:
            return _refuse_folder(spec, folder, error)
    attempt = Attempt(
        spec=spec,
        folder=folder,
        grace_seconds=options.grace_seconds,
        started_at=datetime.now(UTC),
        started_monotonic=time.monotonic(),
    )
    with _live_metrics(attempt, options.metrics_port):
        result = _run(attempt, stop_request)
    try:
        deliver(result, attempt.folder)
    except OSError as error:
        print(f"{attempt.folder}: the result cannot be written: {error}", file=sys.stderr)
        return EXIT_NOT_DELIVERED
    return EXIT_FAILED if result.failure else EXIT_SUCCEEDED


def _parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="gpubench-run", description="Run one attempt of a gpubench run and write its result."
    )
    parser.add_argument("--spec", required=True, help="the run's RunSpec, a JSON file")
    parser.add_argument("--output", required=True, help="the attempt's folder")
    parser.add_argument(
        "--grace-seconds",
        type=float,
        default=DEFAULT_GRACE_SECONDS,
        help="how long ranks may take to end before they are killed (default %(default)s)",
    )
    parser.add_argument("--parent-pid", type=int, help="end at once when this parent process ends")
    parser.add_argument(
        "--make-output",
        action="store_true",
        help="make the attempt's folder; what is there is moved aside",
    )
    parser.add_argument(
        "--metrics-port",
        type=int,
        help="serve the attempt's live metrics for Prometheus at this port (default: none)",
    )
    parser.add_argument(
        "--check", action="store_true", help="only check that everything needed is there"
    )
    return parser.parse_args(arguments)


def _check(spec: RunSpec, folder: Path) -> int:
    """Check what a run needs without running it; print the failure as JSON if there is one."""
    try:
        preflight(spec, folder)
    except PreflightError as error:
        failure = Failure(failure_class=error.failure_class, message=str(error))
        print(failure.model_dump_json(by_alias=True, exclude_none=True))
        return EXIT_FAILED
    return EXIT_SUCCEEDED


def _refuse_folder(spec: RunSpec, folder: Path, error: OSError) -> int:
    """Tell whoever waits that there is no folder for the result, and return the exit code."""
    message = f"results folder {error.filename or folder}: {error.strerror or error}"
    print(message, file=sys.stderr)
    failure = Failure(failure_class=FailureClass.ENVIRONMENT, message=message)
    now = datetime.now(UTC)
    hand_over(failed_result(spec, failure, build_provenance([], now, now)))
    return EXIT_NOT_DELIVERED


def _run(attempt: Attempt, stop_request: StopRequest) -> RunResult:
    """Return the attempt's result; whatever goes wrong becomes its failure."""
    try:
        _publish(attempt, Stage.PREFLIGHT)
        preflight(attempt.spec, attempt.folder)
        _publish(attempt, Stage.STARTING)
        return _train(attempt, stop_request)
    except PreflightError as error:
        failure = Failure(failure_class=error.failure_class, message=str(error))
    except OSError as error:
        message = f"{error.filename or attempt.folder}: {error.strerror or error}"
        failure = Failure(failure_class=FailureClass.ENVIRONMENT, message=message)
    except Exception as error:  # noqa: BLE001 - our own fault must end as a result, too
        message = f"the supervisor failed: {type(error).__name__}: {error}"
        failure = Failure(failure_class=FailureClass.CRASH, message=message)
        _append_traceback(attempt.folder)
    return failed_result(
        attempt.spec, failure, build_provenance([], attempt.started_at, datetime.now(UTC))
    )


def _train(attempt: Attempt, stop_request: StopRequest) -> RunResult:
    spec, folder = attempt.spec, attempt.folder
    count = process_count(spec)
    oom_kills_before = kernel_oom_kills()
    sampler = GpuSampler(enabled=spec.device is DeviceKind.CUDA)
    profiler = choose_profiler(spec)
    if profiler is ProfileSource.NSYS:
        hide_environment()
    with sampler.sampling():
        ranks = RankProcesses.start(spec, folder, profiler)
        try:
            interruption = watch(
                ranks,
                spec.limits,
                folder,
                stop_request,
                attempt.grace_seconds,
                attempt.started_monotonic,
            )
        finally:
            ranks.finish()
    reports = [read_rank_report(folder, rank) for rank in range(count)]
    complete = [report for report in reports if report is not None and report.failure is None]
    # What a profiler does after the ranks have reported is not the training's failure.
    trained = profiler is not None and len(complete) == count
    failure = (
        None
        if trained
        else classify(
            Ending(
                exit_code=ranks.process.wait(),
                interruption=interruption,
                rank_exits=ranks.rank_exits(),
                reports=reports,
                kernel_oom_kills=kernel_oom_kills() - oom_kills_before,
            )
        )
    )
    provenance = build_provenance(reports, attempt.started_at, datetime.now(UTC))
    if failure is not None:
        return failed_result(spec, failure, provenance)
    steps = gather_steps(folder, count)
    result = succeeded_result(
        spec,
        complete,
        steps,
        started_at=attempt.started_at.timestamp(),
        total_seconds=attempt.elapsed_seconds,
        provenance=provenance,
        telemetry=sampler.telemetry(*_training_period(complete), expected_processes=count),
    )
    if profiler is None:
        return judge(result, spec, complete)
    taken = take_profile(spec, folder, complete, steps, lambda: stop_request.signal is not None)
    result = result.model_copy(update={"profile": taken.profile})
    return judge(result, spec, complete, taken.gate)


def _training_period(reports: list[RankReport]) -> tuple[float, float]:
    """Return the start and end of training, seconds since the epoch."""
    start = min((r.first_step_at for r in reports if r.first_step_at is not None), default=0.0)
    return start, start + max(r.training_seconds + r.evaluation_seconds for r in reports)


def _live_metrics(attempt: Attempt, port: int | None) -> AbstractContextManager[None]:
    """Return what serves the attempt's live metrics, or nothing where nobody asked for them."""
    if port is None:
        return nullcontext()
    from gpubench_workloads.live_metrics.collector import LiveRun
    from gpubench_workloads.live_metrics.server import serving_live_metrics

    identity = attempt.spec.identity
    gpus = visible_gpus() if attempt.spec.device is DeviceKind.CUDA else []
    run = LiveRun(
        namespace=os.environ.get(NAMESPACE_VARIABLE, ""),
        benchmark=identity.benchmark,
        run=identity.run,
        attempt=identity.attempt,
        no_progress_seconds=attempt.spec.limits.no_progress_seconds,
        gpu_uuids=[gpu.uuid for gpu in gpus],
    )
    return serving_live_metrics(port, run, attempt.folder)


def _publish(attempt: Attempt, stage: Stage) -> None:
    ProgressWriter(attempt.folder, enabled=True).write(AttemptProgress(stage=stage), force=True)


def _append_traceback(folder: Path) -> None:
    import traceback

    try:
        with (folder / LOG_FILE).open("a", encoding="utf-8") as log:
            traceback.print_exc(file=log)
    except OSError:
        traceback.print_exc()
