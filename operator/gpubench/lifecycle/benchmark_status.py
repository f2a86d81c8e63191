"""The benchmark's status: phase, conditions, progress and times, from a full recount."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpubench.api.benchmark import BestRun, GPUBenchmarkStatus
from gpubench.api.enums import BenchmarkPhase
from gpubench.lifecycle.conditions import Judgement, make_conditions
from gpubench.lifecycle.summary import Summary
from gpubench.lifecycle.timestamps import from_timestamp, to_timestamp

ETA_TOLERANCE = 0.1
"""An estimate that moved by less than this share of the time to go is left as it was."""
MIN_ETA_TOLERANCE_SECONDS = 15.0


@dataclass(frozen=True)
class Obstacle:
    """Something that keeps runs from starting, and what to do about it."""

    reason: str
    """One CamelCase word for machines."""
    message: str
    """A sentence that says what to do."""


@dataclass(frozen=True)
class Observation:
    """What a benchmark's status is made from."""

    summary: Summary
    generation: int
    obstacles: Sequence[Obstacle] = ()
    """What keeps runs from starting; the first one is told."""


def make_status(
    observation: Observation, previous: GPUBenchmarkStatus, now: float
) -> GPUBenchmarkStatus:
    """Return the status of a benchmark whose spec was accepted."""
    summary = observation.summary
    progress = summary.progress
    return GPUBenchmarkStatus(
        observed_generation=observation.generation,
        phase=summary.phase,
        conditions=make_conditions(
            _judge(observation), previous.conditions, observation.generation, now
        ),
        progress=progress,
        runs=f"{progress.finished}/{progress.total}",
        start_time=_start_time(summary, previous),
        completion_time=_timestamp(summary.completed_at),
        estimated_completion_time=_estimate(summary, previous, now),
        gpu_seconds=round(summary.gpu_seconds),
        best=_best(summary),
    )


def make_rejected_status(
    reason: str, message: str, generation: int, previous: GPUBenchmarkStatus, now: float
) -> GPUBenchmarkStatus:
    """Return the status of a benchmark that cannot be run as it is written."""
    judgements = [
        Judgement("Accepted", False, reason, message),
        Judgement("Progressing", False, reason, "nothing runs until the spec is mended"),
        Judgement("Complete", False, reason, ""),
        Judgement("Failed", True, reason, "the spec cannot be run, see Accepted"),
        Judgement("Degraded", False, "NothingInTheWay", ""),
    ]
    return previous.model_copy(
        update={
            "observed_generation": generation,
            "phase": BenchmarkPhase.FAILED,
            "estimated_completion_time": None,
            "conditions": make_conditions(judgements, previous.conditions, generation, now),
        }
    )


def is_worth_writing(new: GPUBenchmarkStatus, old: GPUBenchmarkStatus) -> bool:
    """Tell whether two statuses differ by more than GPU time, which grows all the time."""
    return _without_gpu_seconds(new) != _without_gpu_seconds(old)


def _without_gpu_seconds(status: GPUBenchmarkStatus) -> GPUBenchmarkStatus:
    return status.model_copy(update={"gpu_seconds": None})


def _judge(observation: Observation) -> list[Judgement]:
    summary = observation.summary
    progress = summary.progress
    obstacle = observation.obstacles[0] if observation.obstacles else None
    counts = (
        f"{progress.succeeded} valid, {progress.invalid} invalid, {progress.failed} failed, "
        f"{progress.running} running, {progress.pending} pending"
    )
    complete = summary.phase is BenchmarkPhase.COMPLETED
    failed = summary.phase is BenchmarkPhase.FAILED
    in_progress = summary.phase in (BenchmarkPhase.RUNNING, BenchmarkPhase.PENDING)
    degraded = obstacle is not None and not summary.is_over
    return [
        Judgement("Accepted", True, "SpecAccepted", f"{progress.total} runs"),
        Judgement("Progressing", in_progress, _progressing_reason(summary, degraded), counts),
        Judgement("Complete", complete, "AllRunsFinished" if complete else "NotFinished", counts),
        Judgement(
            "Failed",
            failed,
            "FailureBudgetSpent" if failed else "NotFailed",
            f"{progress.failed} runs failed, more than execution.failureBudget allows; raise it, "
            "or delete failed runs to have them tried again"
            if failed
            else "",
        ),
        Judgement(
            "Degraded",
            degraded,
            obstacle.reason if obstacle and degraded else "NothingInTheWay",
            obstacle.message if obstacle and degraded else "",
        ),
    ]


def _progressing_reason(summary: Summary, degraded: bool) -> str:
    match summary.phase:
        case BenchmarkPhase.SUSPENDED:
            return "Suspended"
        case BenchmarkPhase.COMPLETED | BenchmarkPhase.FAILED:
            return "Finished"
    if summary.progress.running:
        return "RunsInProgress"
    return "WaitingForObstacle" if degraded else "WaitingToStart"


def _start_time(summary: Summary, previous: GPUBenchmarkStatus) -> str | None:
    """Return when the first run started; once told it stays, and keeps the spec from changing."""
    return previous.start_time or _timestamp(summary.started_at)


def _estimate(summary: Summary, previous: GPUBenchmarkStatus, now: float) -> str | None:
    estimate = summary.estimated_completion_at
    if estimate is None or previous.estimated_completion_time is None:
        return _timestamp(estimate)
    told = from_timestamp(previous.estimated_completion_time)
    tolerance = max(ETA_TOLERANCE * (estimate - now), MIN_ETA_TOLERANCE_SECONDS)
    is_close = abs(told - estimate) <= tolerance and told > now
    return previous.estimated_completion_time if is_close else _timestamp(estimate)


def _best(summary: Summary) -> BestRun | None:
    if summary.best_run is None or summary.best_throughput is None:
        return None
    return BestRun(run=summary.best_run, throughput=summary.best_throughput)


def _timestamp(seconds: float | None) -> str | None:
    return None if seconds is None else to_timestamp(seconds)
