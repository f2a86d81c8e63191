"""Which failures are tried again."""

from __future__ import annotations

from dataclasses import dataclass

from gpubench.api.enums import FailureClass
from gpubench.lifecycle.observed import ObservedAttempt, Policy

MAX_BLAMELESS_RETRIES = 20
"""Retries that nobody is to blame for, of all kinds together, before even those end: a node that
always dies."""
MAX_BACKOFF_SECONDS = 600


@dataclass(frozen=True)
class RetryRule:
    """How a failure class is treated: `limit` retries at most, on top of the user's limit.

    One that does not count is tried again up to `MAX_BLAMELESS_RETRIES`.
    """

    limit: int | None
    counts: bool = True


NEVER = RetryRule(limit=0)
ONCE = RetryRule(limit=1)
UP_TO_THE_USERS_LIMIT = RetryRule(limit=None)
BLAMELESS = RetryRule(limit=None, counts=False)

RETRY_RULES: dict[FailureClass, RetryRule] = {
    # The same spec, data and seed fail in the same way again.
    FailureClass.BAD_SPEC: NEVER,
    FailureClass.DATA_MISSING: NEVER,
    FailureClass.NON_FINITE_LOSS: NEVER,
    # Mostly it will not fit a second time either, but fragmentation and neighbours pass.
    FailureClass.OUT_OF_MEMORY: ONCE,
    FailureClass.ENVIRONMENT: ONCE,
    FailureClass.TIMEOUT: ONCE,
    FailureClass.NO_PROGRESS: UP_TO_THE_USERS_LIMIT,
    FailureClass.CRASH: UP_TO_THE_USERS_LIMIT,
    FailureClass.KILLED: UP_TO_THE_USERS_LIMIT,
    FailureClass.RESULT_MISSING: UP_TO_THE_USERS_LIMIT,
    # Not the run's fault, and not the user's.
    FailureClass.PREEMPTED: BLAMELESS,
    FailureClass.NODE_LOST: BLAMELESS,
}


def may_retry(failures: tuple[ObservedAttempt, ...], policy: Policy) -> bool:
    """Tell whether a run with these failures, oldest first, gets another attempt."""
    if not failures:
        return True
    last = failures[-1].failure or FailureClass.CRASH
    rule = RETRY_RULES[last]
    if not rule.counts:
        return len(failures) - counted(failures) <= MAX_BLAMELESS_RETRIES
    of_this_class = sum(failure.failure is last for failure in failures)
    if rule.limit is not None and of_this_class > rule.limit:
        return False
    return counted(failures) <= policy.retry_limit


def counted(failures: tuple[ObservedAttempt, ...]) -> int:
    """Return how many of the failures count against the user's retry limit."""
    return sum(RETRY_RULES[f.failure or FailureClass.CRASH].counts for f in failures)


def retry_at(failures: tuple[ObservedAttempt, ...], policy: Policy) -> float:
    """Return when the next attempt may start, seconds since the epoch; 0 for the first.

    The wait doubles with each failure that counts; after others it is the first wait.
    """
    if not failures:
        return 0.0
    exponent = max(counted(failures) - 1, 0)
    wait = min(policy.retry_backoff_seconds << exponent, MAX_BACKOFF_SECONDS)
    last = failures[-1]
    return (last.ended_at if last.ended_at is not None else last.started_at) + wait
