"""What to do next: the one place that starts and stops attempts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpubench.api.enums import AttemptState, FailureClass, Isolation
from gpubench.lifecycle.observed import Capacity, ObservedAttempt, ObservedRun, Policy
from gpubench.lifecycle.runs import budget_is_spent, run_state

SUPERVISOR_GRACE_SECONDS = 60
"""The supervisor enforces the deadline itself; this long after it, whoever started it does."""


@dataclass(frozen=True)
class StartAttempt:
    """Start a new attempt of a run."""

    run: str
    attempt: int
    gpus: int


@dataclass(frozen=True)
class StopAttempt:
    """Stop a running attempt; it counts as a failure of this class."""

    run: str
    attempt: int
    failure: FailureClass
    message: str


Decision = StartAttempt | StopAttempt


def decide(
    policy: Policy, runs: Sequence[ObservedRun], capacity: Capacity, now: float
) -> tuple[Decision, ...]:
    """Return what to do now, runs in the order in which they are to start.

    Never more GPUs are asked for than `capacity` has, never two attempts of a run are alive, and
    a run that does not fit does not hold back a later one that does.
    """
    if policy.suspended:
        return tuple(_stop_all(runs))
    return (*_stop_overdue(policy, runs, now), *_start_ready(policy, runs, capacity, now))


def _stop_all(runs: Sequence[ObservedRun]) -> Iterator[StopAttempt]:
    for run in runs:
        if run.live is not None:
            yield StopAttempt(run.name, run.live.number, FailureClass.PREEMPTED, "suspended")


def _stop_overdue(policy: Policy, runs: Sequence[ObservedRun], now: float) -> Iterator[StopAttempt]:
    for run in runs:
        live = run.live
        if live is None:
            continue
        if live.state is AttemptState.PENDING:
            if _has_not_started(live, policy, now):
                seconds = policy.start_timeout_seconds
                message = f"not started after {seconds} s: {live.message or 'no reason is known'}"
                yield StopAttempt(run.name, live.number, FailureClass.ENVIRONMENT, message)
        elif now - live.started_at > policy.timeout_seconds + SUPERVISOR_GRACE_SECONDS:
            message = f"still running {SUPERVISOR_GRACE_SECONDS} s after its deadline"
            yield StopAttempt(run.name, live.number, FailureClass.TIMEOUT, message)


def _has_not_started(attempt: ObservedAttempt, policy: Policy, now: float) -> bool:
    allowed = policy.start_timeout_seconds
    return allowed is not None and not attempt.queued and now - attempt.started_at > allowed


def _start_ready(
    policy: Policy, runs: Sequence[ObservedRun], capacity: Capacity, now: float
) -> Iterator[StartAttempt]:
    if budget_is_spent(runs, policy):
        return
    running = [run for run in runs if run.live is not None]
    live_count = len(running)
    free_gpus = capacity.gpus - sum(run.gpus for run in running)
    exclusive = policy.isolation is Isolation.EXCLUSIVE_NODE
    most_at_once = capacity.nodes if exclusive else len(runs)
    if policy.parallelism is not None:
        most_at_once = min(most_at_once, policy.parallelism)
    for run in runs:
        if live_count >= most_at_once:
            return
        ready_at = run_state(run, policy).ready_at
        if ready_at is None or ready_at > now or run.gpus > free_gpus:
            continue
        yield StartAttempt(run.name, run.next_attempt, run.gpus)
        live_count += 1
        free_gpus -= run.gpus
