"""A results folder as the values that a report is made from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gpubench.analysis.inputs import ReportInput, ReportRun
from gpubench.api.gates import with_acceptance
from gpubench.api.result import Failure
from gpubench.lifecycle import ObservedAttempt, ObservedRun, Policy, Summary, run_state, summarize
from gpubench.local.observe import observe_stored
from gpubench.sweep.expansion import expand
from gpubench.sweep.plan import Run

if TYPE_CHECKING:
    from gpubench.api.benchmark import GPUBenchmark
    from gpubench.store import ResultsFolder, StoredAttempt


def read_report_input(folder: ResultsFolder) -> ReportInput:
    """Read every run of a benchmark, those without a result too.

    Raises:
        ResultsFolderError: the folder holds no benchmark.
        ResultVersionError: a result was written by a newer gpubench.
    """
    benchmark = folder.read_benchmark()
    return ReportInput(
        benchmark=benchmark,
        runs=[_read_run(folder, benchmark, run) for run in expand(benchmark).runs],
        generated_at=datetime.now(UTC),
        source=str(folder.path),
    )


def read_summary(folder: ResultsFolder) -> Summary:
    """Return where a benchmark stands, by its results folder alone.

    Raises:
        ResultsFolderError: the folder holds no benchmark.
        ResultVersionError: a result was written by a newer gpubench.
    """
    benchmark = folder.read_benchmark()
    runs = [_observe(folder.attempts(run.name), benchmark, run) for run in expand(benchmark).runs]
    return summarize(Policy.from_spec(benchmark.spec), runs, datetime.now(UTC).timestamp())


def _observe(stored: list[StoredAttempt], benchmark: GPUBenchmark, run: Run) -> ObservedRun:
    acceptance = benchmark.spec.results.acceptance
    return ObservedRun(
        name=run.name,
        point_hash=run.point.point_hash,
        gpus=run.point.gpus,
        attempts=tuple(observe_stored(attempt, acceptance) for attempt in stored),
    )


def _read_run(folder: ResultsFolder, benchmark: GPUBenchmark, run: Run) -> ReportRun:
    acceptance = benchmark.spec.results.acceptance
    stored = folder.attempts(run.name)
    observed = _observe(stored, benchmark, run)
    results = {
        attempt.number: with_acceptance(attempt.result, acceptance)
        for attempt in stored
        if attempt.result is not None
    }
    accepted = observed.accepted
    return ReportRun(
        name=run.name,
        point_hash=run.point.point_hash,
        repetition=run.repetition,
        parameters=run.point.parameters,
        workload=run.point.workload,
        gpus=run.point.gpus,
        attempts=tuple(results.values()),
        accepted=results[accepted.number] if accepted else None,
        state=run_state(observed, Policy.from_spec(benchmark.spec)).phase,
        given_up=_failure_of(observed.attempts[-1]) if observed.attempts else None,
        attempts_made=len(stored),
    )


def _failure_of(attempt: ObservedAttempt) -> Failure | None:
    """Return why an attempt failed, also where it left no result that says so."""
    if attempt.failure is None:
        return None
    return Failure(failure_class=attempt.failure, message=attempt.message)
