"""Where a benchmark stands in its cluster, as a screen shows it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from gpubench.api.benchmark import GPUBenchmark, Progress
from gpubench.api.enums import AttemptState, BenchmarkPhase, RunPhase
from gpubench.api.run import Attempt, GPUBenchmarkRun
from gpubench.cluster.statuses import status_of

OVER_PHASES = (BenchmarkPhase.COMPLETED, BenchmarkPhase.FAILED)
BAD_NEWS = (("Accepted", "False"), ("Degraded", "True"))
"""Conditions that a person who waits wants to know of, and the status that makes them news."""


@dataclass(frozen=True)
class LiveAttempt:
    """An attempt that has a job; it waits for its pod to start, or runs."""

    run: str
    number: int
    started_at: float | None
    """Seconds since the epoch; None while it waits."""


@dataclass(frozen=True)
class EndedAttempt:
    """An attempt that is over, and where its run stands after it."""

    run: str
    phase: RunPhase
    attempt: Attempt
    throughput: float | None
    """Samples per second, where they are known."""

    @property
    def seconds(self) -> float | None:
        """How long its pod ran; None where it never started."""
        started, ended = self.attempt.start_time, self.attempt.completion_time
        return _seconds(ended) - _seconds(started) if started and ended else None


@dataclass(frozen=True)
class Standing:
    """What a screen shows: the whole, and the live attempts."""

    progress: Progress
    estimated_completion_at: float | None
    """Seconds since the epoch."""
    live: tuple[LiveAttempt, ...]


def standing(benchmark: GPUBenchmark, runs: Sequence[GPUBenchmarkRun]) -> Standing:
    """Return where a benchmark stands, by its status and those of its runs."""
    status = benchmark.status
    eta = status.estimated_completion_time if status else None
    live = [
        LiveAttempt(run.name, each.number, _seconds(each.start_time) if each.start_time else None)
        for run in runs
        for each in status_of(run).attempts
        if each.state in (AttemptState.PENDING, AttemptState.RUNNING)
    ]
    return Standing(
        progress=status.progress if status else Progress(),
        estimated_completion_at=_seconds(eta) if eta else None,
        live=tuple(sorted(live, key=lambda each: (each.started_at or float("inf"), each.run))),
    )


def ended_attempts(runs: Sequence[GPUBenchmarkRun]) -> Iterator[EndedAttempt]:
    """Return every attempt that is over, in the order in which they ended."""
    ended = [
        EndedAttempt(
            run=run.name,
            phase=status.phase if each is status.attempts[-1] else RunPhase.RETRYING,
            attempt=each,
            throughput=(
                status.result.samples_per_second
                if status.result is not None and status.result.attempt == each.number
                else None
            ),
        )
        for run in runs
        for status in (status_of(run),)
        for each in status.attempts
        if each.state in (AttemptState.SUCCEEDED, AttemptState.FAILED)
    ]
    yield from sorted(ended, key=lambda each: (each.attempt.completion_time or "", each.run))


def is_over(benchmark: GPUBenchmark, generation: int) -> bool:
    """Tell whether nothing more will start by itself of this generation of the spec."""
    status = benchmark.status
    if status is None or (status.observed_generation or 0) < generation:
        return False
    stopped = status.phase is BenchmarkPhase.SUSPENDED and status.progress.running == 0
    return status.phase in OVER_PHASES or stopped


def bad_news(benchmark: GPUBenchmark) -> tuple[str, ...]:
    """Return what keeps runs from starting, in sentences that say what to do."""
    conditions = benchmark.status.conditions if benchmark.status else []
    return tuple(
        f"{each.reason}: {each.message}"
        for each in conditions
        if (each.type, each.status) in BAD_NEWS
    )


def is_refused(benchmark: GPUBenchmark) -> bool:
    """Tell whether the operator found that the spec cannot be run as it is written."""
    conditions = benchmark.status.conditions if benchmark.status else []
    return any((each.type, each.status) == ("Accepted", "False") for each in conditions)


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()
