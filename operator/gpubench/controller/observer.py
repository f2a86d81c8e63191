"""A run's record, jobs and pods -> the run as lifecycle looks at it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpubench.api.compact import CompactResult
from gpubench.api.enums import AttemptState, FailureClass
from gpubench.api.execution import AcceptanceRule
from gpubench.api.gates import compact_validity
from gpubench.api.run_telemetry import RunTelemetry
from gpubench.backends import JobPhase, JobState, PodState, observe_attempt, pod_is_overdue
from gpubench.controller.cache import BenchmarkCache, RunRecord
from gpubench.lifecycle import ObservedAttempt, ObservedRun, StopAttempt, finished_attempts
from gpubench.lifecycle.observed import LIVE_STATES
from gpubench.lifecycle.timestamps import from_timestamp
from gpubench.sweep.plan import Run


@dataclass(frozen=True)
class RunView:
    """A run and what its accepted or last attempt handed over."""

    run: ObservedRun
    result: CompactResult | None = None
    telemetry: RunTelemetry | None = None
    """What DCGM saw of that attempt."""


def jobs_of(cache: BenchmarkCache, record: RunRecord) -> list[JobState]:
    """Return a run's own jobs by attempt; those of a run of that name that is gone are not."""
    jobs = cache.jobs.get(record.name, {})
    return [job for _, job in sorted(jobs.items()) if job.run_uid == record.uid]


def doubtful_jobs(cache: BenchmarkCache, record: RunRecord) -> list[JobState]:
    """Return jobs that are over while we have not heard so of their pods."""
    recorded = _finished_numbers(record)
    return [
        job
        for job in jobs_of(cache, record)
        if job.attempt not in recorded and pod_is_overdue(job, cache.pod_of(job))
    ]


def missing_attempts(cache: BenchmarkCache, record: RunRecord) -> list[int]:
    """Return attempts that were alive when last recorded and have no job that we know of."""
    known = {job.attempt for job in jobs_of(cache, record)}
    return [
        attempt.number
        for attempt in record.status.attempts
        if attempt.state in LIVE_STATES and attempt.number not in known
    ]


def view_run(
    run: Run,
    record: RunRecord | None,
    cache: BenchmarkCache,
    rules: list[AcceptanceRule],
    now: float,
) -> RunView:
    """Return where a run stands; attempts whose job is gone have failed."""
    observed = ObservedRun(run.name, run.point.point_hash, run.point.gpus)
    if record is None:
        return RunView(observed)
    attempts = {a.number: a for a in finished_attempts(record.status, rules)}
    result = record.status.result
    for number in missing_attempts(cache, record):
        attempts[number] = _lost(record, number, now)
    for job in jobs_of(cache, record):
        if job.attempt in attempts:
            continue
        pod = cache.pod_of(job)
        outcome = observe_attempt(job, pod, run.point.point_hash, now)
        attempt = _continued(outcome.attempt, record) if pod is None else outcome.attempt
        attempts[job.attempt] = _judged(attempt, outcome.result, rules)
        result = outcome.result or result
    ordered = tuple(attempts[number] for number in sorted(attempts))
    return RunView(replace(observed, attempts=ordered), result)


def _continued(attempt: ObservedAttempt, record: RunRecord) -> ObservedAttempt:
    """Return an attempt that had begun as one that goes on: its pod is about to be replaced."""
    if attempt.state is not AttemptState.PENDING or attempt.queued:
        return attempt
    for recorded in record.status.attempts:
        is_it = recorded.number == attempt.number and recorded.state is AttemptState.RUNNING
        if is_it and recorded.start_time:
            started_at = from_timestamp(recorded.start_time)
            return replace(attempt, state=AttemptState.RUNNING, started_at=started_at, message="")
    return attempt


def _judged(
    attempt: ObservedAttempt, result: CompactResult | None, rules: list[AcceptanceRule]
) -> ObservedAttempt:
    """Return an attempt judged by the present rules, not by those that its pod was given."""
    if attempt.state is not AttemptState.SUCCEEDED or result is None:
        return attempt
    validity = compact_validity(result, rules)
    return replace(attempt, validity=validity.status if validity else None)


def with_telemetry(
    view: RunView,
    record: RunRecord | None,
    seen: Mapping[tuple[str, int], RunTelemetry],
    rules: list[AcceptanceRule],
) -> RunView:
    """Return a view with what DCGM saw of its accepted or last attempt, judged by that, too.

    What is recorded stays where it has more samples than what is known now, as after a restart.
    """
    run = view.run
    told = run.accepted or (run.attempts[-1] if run.attempts else None)
    if record is None or told is None:
        return view
    recorded, telemetry = record.status.telemetry, seen.get((record.uid, told.number))
    if (
        recorded is not None
        and recorded.attempt == told.number
        and (telemetry is None or telemetry.samples < recorded.samples)
    ):
        telemetry = recorded
    if telemetry is None or told is not run.accepted or view.result is None:
        return replace(view, telemetry=telemetry)
    validity = compact_validity(view.result, rules, telemetry)
    judged = replace(told, validity=validity.status if validity else None)
    attempts = tuple(judged if attempt is told else attempt for attempt in run.attempts)
    return replace(view, run=replace(run, attempts=attempts), telemetry=telemetry)


def stopped(view: RunView, stop: StopAttempt, now: float) -> RunView:
    """Return the view of a run after an attempt was stopped."""
    attempts = tuple(
        replace(
            attempt,
            state=AttemptState.FAILED,
            started_at=now if attempt.state is AttemptState.PENDING else attempt.started_at,
            ended_at=now,
            failure=stop.failure,
            message=stop.message,
        )
        if attempt.number == stop.attempt
        else attempt
        for attempt in view.run.attempts
    )
    return replace(view, run=replace(view.run, attempts=attempts))


def started(view: RunView, job: JobState) -> RunView:
    """Return the view of a run after an attempt's job was made."""
    attempt = ObservedAttempt(job.attempt, AttemptState.PENDING, job.created_at)
    return replace(view, run=replace(view.run, attempts=(*view.run.attempts, attempt)))


def has_ended(job: JobState, pod: PodState | None) -> bool:
    """Tell whether nothing of an attempt runs any more, or will."""
    if pod is not None:
        return pod.state not in LIVE_STATES
    return job.phase in (JobPhase.SUCCEEDED, JobPhase.FAILED)


def finished_jobs(cache: BenchmarkCache, record: RunRecord) -> list[tuple[JobState, AttemptState]]:
    """Return jobs whose attempt is recorded as over, and how it ended."""
    states = {attempt.number: attempt.state for attempt in record.status.attempts}
    return [
        (job, states[job.attempt])
        for job in jobs_of(cache, record)
        if job.attempt in states and states[job.attempt] not in LIVE_STATES and not job.deleting
    ]


def waiting_jobs(
    cache: BenchmarkCache, record: RunRecord
) -> list[tuple[JobState, PodState | None]]:
    """Return the jobs of attempts that are not recorded as over, each with its pod."""
    recorded = _finished_numbers(record)
    return [
        (job, cache.pod_of(job)) for job in jobs_of(cache, record) if job.attempt not in recorded
    ]


def _finished_numbers(record: RunRecord) -> set[int]:
    return {a.number for a in record.status.attempts if a.state not in LIVE_STATES}


def _lost(record: RunRecord, number: int, now: float) -> ObservedAttempt:
    """Return an attempt whose job was deleted under it; nobody is to blame but who deleted it."""
    recorded = next(a for a in record.status.attempts if a.number == number)
    started_at = from_timestamp(recorded.start_time) if recorded.start_time else now
    return ObservedAttempt(
        number=number,
        state=AttemptState.FAILED,
        started_at=started_at,
        ended_at=now,
        failure=FailureClass.PREEMPTED,
        message=f"its job {recorded.job_name} was deleted",
    )
