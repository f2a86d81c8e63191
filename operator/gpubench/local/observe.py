"""Attempts on this machine's disk, as lifecycle looks at them."""

from __future__ import annotations

from datetime import datetime

from gpubench.api.enums import FailureClass
from gpubench.api.execution import AcceptanceRule
from gpubench.api.gates import with_acceptance
from gpubench.api.result import RunResult
from gpubench.lifecycle import AttemptState, ObservedAttempt
from gpubench.store import StoredAttempt

SUPERVISOR_NOT_DELIVERED = 3
"""Exit code of a supervisor that could not write its result."""


def observe_stored(
    stored: StoredAttempt, acceptance: list[AcceptanceRule], exit_code: int | None = None
) -> ObservedAttempt:
    """Return an attempt that is over; `exit_code` is its supervisor's where we saw it end."""
    if stored.result is None:
        return _observe_cut_off(stored, exit_code)
    result = with_acceptance(stored.result, acceptance)
    failure = result.failure
    return ObservedAttempt(
        number=stored.number,
        state=AttemptState.FAILED if failure else AttemptState.SUCCEEDED,
        started_at=_timestamp(result.provenance.started_at),
        ended_at=_timestamp(result.provenance.finished_at),
        failure=failure.failure_class if failure else None,
        message=failure.message if failure else "",
        validity=result.validity.status if result.validity else None,
        throughput=_samples_per_second(result),
    )


def _observe_cut_off(stored: StoredAttempt, exit_code: int | None) -> ObservedAttempt:
    times = [path.stat().st_mtime for path in (stored.path, *stored.path.iterdir())]
    failure, message = FailureClass.KILLED, stored.damage or "it was cut off"
    if exit_code is not None and exit_code >= 0:
        failure = FailureClass.RESULT_MISSING
        message = f"the supervisor ended with exit code {exit_code} and left no whole result"
    if exit_code == SUPERVISOR_NOT_DELIVERED:
        failure = FailureClass.ENVIRONMENT
        message = "the result could not be written; the reason is in the log"
    return ObservedAttempt(
        number=stored.number,
        state=AttemptState.FAILED,
        started_at=min(times),
        ended_at=max(times),
        failure=failure,
        message=message,
    )


def _timestamp(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _samples_per_second(result: RunResult) -> float | None:
    return result.throughput.samples_per_second if result.throughput else None
