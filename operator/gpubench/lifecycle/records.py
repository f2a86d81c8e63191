"""A run's status on the API server <-> its attempts as lifecycle looks at them.

Finished attempts are read from the status alone, so that jobs and pods may go once they are
recorded; an attempt that the status knows as live is only as alive as its job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpubench.api.benchmark import Condition
from gpubench.api.compact import CompactResult
from gpubench.api.enums import AttemptState, FailureClass, RunPhase
from gpubench.api.execution import AcceptanceRule
from gpubench.api.gates import compact_validity
from gpubench.api.run import (
    MAX_ATTEMPTS,
    MAX_MESSAGE_LENGTH,
    Attempt,
    AttemptFailure,
    GPUBenchmarkRunStatus,
    RunTiming,
)
from gpubench.api.run_telemetry import RunTelemetry
from gpubench.lifecycle.conditions import Judgement, make_conditions
from gpubench.lifecycle.observed import LIVE_STATES, ObservedAttempt, ObservedRun, Policy
from gpubench.lifecycle.runs import RunState, run_state
from gpubench.lifecycle.timestamps import as_told, from_timestamp, to_timestamp
from gpubench.sweep.names import job_name


def finished_attempts(
    status: GPUBenchmarkRunStatus, rules: list[AcceptanceRule]
) -> tuple[ObservedAttempt, ...]:
    """Return the attempts that a status knows to be over, judged by the present rules."""
    return tuple(
        _observe(attempt, status, rules)
        for attempt in status.attempts
        if attempt.state not in LIVE_STATES
    )


def _observe(
    attempt: Attempt, status: GPUBenchmarkRunStatus, rules: list[AcceptanceRule]
) -> ObservedAttempt:
    ended_at = from_timestamp(attempt.completion_time) if attempt.completion_time else 0.0
    started_at = from_timestamp(attempt.start_time) if attempt.start_time else ended_at
    judged = status.result if attempt.state is AttemptState.SUCCEEDED else None
    validity = compact_validity(judged, rules, status.telemetry) if judged else None
    return ObservedAttempt(
        number=attempt.number,
        state=attempt.state,
        started_at=started_at,
        ended_at=ended_at,
        failure=attempt.failure.failure_class if attempt.failure else None,
        message=attempt.failure.message if attempt.failure else "",
        validity=validity.status if validity else None,
        throughput=judged.samples_per_second if judged else None,
    )


def make_run_status(
    run: ObservedRun,
    policy: Policy,
    result: CompactResult | None,
    rules: list[AcceptanceRule],
    previous: Sequence[Condition],
    now: float,
    telemetry: RunTelemetry | None = None,
) -> GPUBenchmarkRunStatus:
    """Return the status of a run.

    `result` is what its accepted or last attempt handed over, `telemetry` what DCGM saw of it.
    """
    run = replace(run, attempts=tuple(_as_recorded(attempt) for attempt in run.attempts))
    state = run_state(run, policy)
    latest = run.attempts[-1] if run.attempts else None
    validity = None
    if result and run.accepted:
        validity = compact_validity(result, rules, telemetry)
    return GPUBenchmarkRunStatus(
        phase=state.phase,
        conditions=make_conditions(_judge(run, state), previous, None, now),
        attempt=latest.number if latest else 0,
        attempts=[_record(run.name, attempt) for attempt in run.attempts[-MAX_ATTEMPTS:]],
        timing=_timing(run, state),
        result=result,
        telemetry=telemetry,
        validity=validity,
    )


def _as_recorded(attempt: ObservedAttempt) -> ObservedAttempt:
    """Return an attempt as it will be read from its record.

    A status is made from that, so that it stays the same when it is made again.
    """
    failed = attempt.state is AttemptState.FAILED
    return replace(
        attempt,
        started_at=as_told(attempt.started_at),
        ended_at=None if attempt.ended_at is None else as_told(attempt.ended_at),
        failure=(attempt.failure or FailureClass.CRASH) if failed else None,
        message=attempt.message[:MAX_MESSAGE_LENGTH],
    )


def _record(run: str, attempt: ObservedAttempt) -> Attempt:
    failure = None
    if attempt.failure is not None:
        failure = AttemptFailure(failure_class=attempt.failure, message=attempt.message)
    return Attempt(
        number=attempt.number,
        state=attempt.state,
        job_name=job_name(run, attempt.number),
        start_time=to_timestamp(attempt.started_at) if attempt.has_begun else None,
        completion_time=to_timestamp(attempt.ended_at) if attempt.ended_at is not None else None,
        failure=failure,
    )


def _timing(run: ObservedRun, state: RunState) -> RunTiming:
    over = [a for a in run.attempts if a.ended_at is not None]
    begun = [a.started_at for a in run.attempts if a.has_begun]
    retry_at = state.ready_at if state.phase is RunPhase.RETRYING else None
    return RunTiming(
        start_time=to_timestamp(min(begun)) if begun else None,
        completion_time=(
            to_timestamp(max(a.ended_at or 0.0 for a in over))
            if over and state.is_finished
            else None
        ),
        retry_time=to_timestamp(retry_at) if retry_at else None,
        gpu_seconds=round(run.gpus * sum(a.seconds or 0.0 for a in over), 3),
    )


def _judge(run: ObservedRun, state: RunState) -> list[Judgement]:
    last = run.attempts[-1] if run.attempts else None
    failed = state.phase is RunPhase.FAILED
    why = f"{last.failure}: {last.message}" if last and last.failure else ""
    reason = last.failure if last and last.failure and failed else "NotFailed"
    message = f"given up after {len(run.attempts)} attempts; the last one: {why}" if failed else ""
    verdicts = {
        RunPhase.SUCCEEDED: "the result is valid",
        RunPhase.INVALID: "the result failed a gate, see validity",
    }
    return [
        Judgement("Complete", state.phase in verdicts, state.phase, verdicts.get(state.phase, why)),
        Judgement("Failed", failed, str(reason), message),
    ]
