"""Short ways to write down what a shell observes."""

from __future__ import annotations

from dataclasses import replace

from gpubench.api.enums import FailureClass, Isolation, ValidityStatus
from gpubench.lifecycle import AttemptState, ObservedAttempt, ObservedRun, Policy

POLICY = Policy(
    parallelism=None,
    isolation=Isolation.SHARED,
    timeout_seconds=1000,
    retry_limit=2,
    retry_backoff_seconds=10,
    failure_budget=None,
    suspended=False,
)


def policy(**changes: object) -> Policy:
    """Return the usual policy with some fields changed."""
    return replace(POLICY, **changes)  # type: ignore[arg-type]  # field names are the caller's


def running(number: int = 1, since: float = 0.0) -> ObservedAttempt:
    return ObservedAttempt(number, AttemptState.RUNNING, started_at=since)


def succeeded(
    number: int = 1,
    *,
    start: float = 0.0,
    seconds: float = 100.0,
    validity: ValidityStatus = ValidityStatus.VALID,
    throughput: float | None = None,
) -> ObservedAttempt:
    return ObservedAttempt(
        number,
        AttemptState.SUCCEEDED,
        started_at=start,
        ended_at=start + seconds,
        validity=validity,
        throughput=throughput,
    )


def failed(
    failure: FailureClass = FailureClass.CRASH, number: int = 1, *, end: float = 100.0
) -> ObservedAttempt:
    return ObservedAttempt(
        number, AttemptState.FAILED, started_at=max(end - 50, 0.0), ended_at=end, failure=failure
    )


def observed_run(
    *attempts: ObservedAttempt, name: str = "run", gpus: int = 1, forgiven: int = 0
) -> ObservedRun:
    numbered = tuple(replace(attempt, number=i + 1) for i, attempt in enumerate(attempts))
    return ObservedRun(name, point_hash=name, gpus=gpus, attempts=numbered, forgiven=forgiven)
