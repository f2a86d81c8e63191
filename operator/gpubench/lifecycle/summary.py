"""The benchmark as a whole: phase, progress, time to go. A recount, never a running count."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpubench.api.benchmark import Progress
from gpubench.api.enums import AttemptState, BenchmarkPhase, RunPhase, ValidityStatus
from gpubench.lifecycle.observed import ObservedAttempt, ObservedRun, Policy
from gpubench.lifecycle.runs import budget_is_spent, run_state

PENDING_PHASES = (RunPhase.PENDING, RunPhase.RETRYING)


@dataclass(frozen=True)
class Summary:
    """Where a benchmark stands. Times are seconds since the epoch."""

    phase: BenchmarkPhase
    progress: Progress
    budget_spent: bool
    gpu_seconds: float
    started_at: float | None
    completed_at: float | None
    estimated_completion_at: float | None
    best_run: str | None
    best_throughput: float | None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will start."""
        return self.phase in (BenchmarkPhase.COMPLETED, BenchmarkPhase.FAILED)


def summarize(policy: Policy, runs: Sequence[ObservedRun], now: float) -> Summary:
    """Return where the benchmark stands, from a full recount of its runs."""
    counts = Counter(run_state(run, policy).phase for run in runs)
    progress = Progress(
        total=len(runs),
        pending=sum(counts[phase] for phase in PENDING_PHASES),
        running=counts[RunPhase.RUNNING],
        succeeded=counts[RunPhase.SUCCEEDED],
        invalid=counts[RunPhase.INVALID],
        failed=counts[RunPhase.FAILED],
    )
    spent = budget_is_spent(runs, policy)
    attempts = [attempt for run in runs for attempt in _begun(run)]
    phase = _phase(policy, progress, budget_spent=spent, started=bool(attempts))
    over = phase in (BenchmarkPhase.COMPLETED, BenchmarkPhase.FAILED)
    best = max(_valid_throughputs(runs), default=None)
    ends = [attempt.ended_at for attempt in attempts if attempt.ended_at is not None]
    return Summary(
        phase=phase,
        progress=progress,
        budget_spent=spent,
        gpu_seconds=_gpu_seconds(runs, now),
        started_at=min((attempt.started_at for attempt in attempts), default=None),
        completed_at=max(ends, default=None) if over else None,
        estimated_completion_at=None if over else _estimated_completion(policy, runs, now),
        best_run=best[1] if best else None,
        best_throughput=best[0] if best else None,
    )


def _phase(
    policy: Policy, progress: Progress, *, budget_spent: bool, started: bool
) -> BenchmarkPhase:
    if progress.finished == progress.total:
        return BenchmarkPhase.FAILED if budget_spent else BenchmarkPhase.COMPLETED
    if budget_spent and not progress.running:
        return BenchmarkPhase.FAILED
    if policy.suspended:
        return BenchmarkPhase.SUSPENDED
    return BenchmarkPhase.RUNNING if started else BenchmarkPhase.PENDING


def _gpu_seconds(runs: Sequence[ObservedRun], now: float) -> float:
    return sum(
        run.gpus * max((attempt.ended_at or now) - attempt.started_at, 0.0)
        for run in runs
        for attempt in _begun(run)
    )


def _begun(run: ObservedRun) -> list[ObservedAttempt]:
    """Return the attempts that have had a device."""
    return [attempt for attempt in run.attempts if attempt.has_begun]


def _valid_throughputs(runs: Sequence[ObservedRun]) -> list[tuple[float, str]]:
    return [
        (run.accepted.throughput, run.name)
        for run in runs
        if run.accepted is not None
        and run.accepted.validity is ValidityStatus.VALID
        and run.accepted.throughput is not None
    ]


def _estimated_completion(policy: Policy, runs: Sequence[ObservedRun], now: float) -> float | None:
    """Return when all is done if runs take as long as finished ones did; None without any."""
    durations = _Durations(runs)
    if not durations.are_known:
        return None
    concurrent = max(sum(_is_running(run) for run in runs), 1)
    remaining = 0.0
    for run in runs:
        if run_state(run, policy).is_finished:
            continue
        elapsed = now - run.live.started_at if run.live and _is_running(run) else 0.0
        remaining += max(durations.expected(run) - elapsed, 0.0)
    return now + remaining / concurrent


def _is_running(run: ObservedRun) -> bool:
    return run.live is not None and run.live.state is AttemptState.RUNNING


def _succeeded(run: ObservedRun) -> list[ObservedAttempt]:
    return [attempt for attempt in run.attempts if attempt.state is AttemptState.SUCCEEDED]


class _Durations:
    """How long finished runs took, by what they have in common with others."""

    def __init__(self, runs: Iterable[ObservedRun]) -> None:
        self._sums: defaultdict[object, float] = defaultdict(float)
        self._counts: Counter[object] = Counter()
        for run in runs:
            for attempt in _succeeded(run):
                for likeness in _likenesses(run):
                    self._sums[likeness] += attempt.seconds or 0.0
                    self._counts[likeness] += 1

    @property
    def are_known(self) -> bool:
        """Whether any run has finished."""
        return bool(self._counts)

    def expected(self, run: ObservedRun) -> float:
        """Return the mean of the most alike finished runs."""
        alike = next(likeness for likeness in _likenesses(run) if likeness in self._counts)
        return self._sums[alike] / self._counts[alike]


def _likenesses(run: ObservedRun) -> tuple[object, ...]:
    """Return what a run may share with others, the closest first: its point, its GPUs, nothing."""
    return run.point_hash, run.gpus, None
