"""An attempt's job and pod together -> where the attempt stands, and its result."""

from __future__ import annotations

from dataclasses import dataclass

from gpubench.api.compact import CompactFailure, CompactResult
from gpubench.api.enums import AttemptState, FailureClass, Outcome
from gpubench.backends.pods import PodState
from gpubench.backends.states import JobPhase, JobState
from gpubench.lifecycle import ObservedAttempt

ENDED = (AttemptState.SUCCEEDED, AttemptState.FAILED)
MAX_SHOWN = 200
A_MOMENT = 0.001


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """An attempt, and the result that it handed over if it did."""

    attempt: ObservedAttempt
    result: CompactResult | None = None


def pod_is_overdue(job: JobState, pod: PodState | None) -> bool:
    """Tell whether a job is over and its pod is not, as far as we have heard.

    Jobs and pods are told of by two streams, so the pod's end may be on its way: look before
    `observe_attempt` takes it for gone.
    """
    job_is_over = job.phase in (JobPhase.SUCCEEDED, JobPhase.FAILED)
    return job_is_over and (pod is None or pod.state not in ENDED)


def observe_attempt(
    job: JobState, pod: PodState | None, point_hash: str, now: float
) -> AttemptOutcome:
    """Return where an attempt stands.

    The pod decides where there is one, for a job learns of its end later; a pod's word is only
    taken for what its termination message proves.
    """
    if pod is not None and pod.state in ENDED:
        return _ended(job, pod, point_hash, now)
    if pod_is_overdue(job, pod):
        return _ended_without_pod(job, pod, now)
    if pod is not None and pod.state is AttemptState.RUNNING:
        # No pod runs before it is made, whatever its node's clock says.
        started_at = max(pod.started_at or pod.created_at, pod.created_at)
        return AttemptOutcome(ObservedAttempt(job.attempt, AttemptState.RUNNING, started_at))
    waiting = ObservedAttempt(
        job.attempt,
        AttemptState.PENDING,
        max(job.active_since, pod.created_at) if pod else job.active_since,
        message=_why_waiting(job, pod),
        queued=job.phase is JobPhase.QUEUED,
    )
    return AttemptOutcome(waiting)


def _why_waiting(job: JobState, pod: PodState | None) -> str:
    if pod is not None:
        return ": ".join(part for part in (pod.reason, pod.message) if part)
    return job.message or "its pod is not there yet"


def _ended(job: JobState, pod: PodState, point_hash: str, now: float) -> AttemptOutcome:
    result, complaint = _read_result(job, pod, point_hash)
    # The node's clock may be ahead of ours, and a retry must not wait until we are there.
    ended_at = min(pod.ended_at or now, now)
    # Containers tell whole seconds: one that ended within its first one has run nevertheless.
    started_at = min(pod.started_at, ended_at - A_MOMENT) if pod.started_at else ended_at
    if result is not None and result.outcome is Outcome.SUCCEEDED:
        attempt = ObservedAttempt(
            job.attempt,
            AttemptState.SUCCEEDED,
            started_at,
            ended_at,
            validity=result.validity,
            throughput=result.samples_per_second,
        )
        return AttemptOutcome(attempt, result)
    if result is not None and result.failure is not None:
        failure, message = _failure_of(pod, result.failure)
    elif pod.failure is not None and (
        not pod.termination_message or pod.failure is FailureClass.ENVIRONMENT
    ):
        failure, message = pod.failure, pod.message
    else:
        failure, message = FailureClass.RESULT_MISSING, complaint
    attempt = ObservedAttempt(
        job.attempt, AttemptState.FAILED, started_at, ended_at, failure, message
    )
    return AttemptOutcome(attempt, result)


def _failure_of(pod: PodState, told: CompactFailure) -> tuple[FailureClass, str]:
    """Return why an attempt failed by its own word, and by the kubelet's where that knows more.

    When the kernel kills one process of a pod for memory, its peers are stopped, and the supervisor
    may see their end first; the kubelet is told of the kill.
    """
    out_of_memory = pod.failure is FailureClass.OUT_OF_MEMORY
    if out_of_memory and told.failure_class in (FailureClass.KILLED, FailureClass.CRASH):
        return FailureClass.OUT_OF_MEMORY, f"{pod.message} ({told.message})"
    return told.failure_class, told.message


def _read_result(job: JobState, pod: PodState, point_hash: str) -> tuple[CompactResult | None, str]:
    """Return what the pod handed over, or why it cannot be believed."""
    message = pod.termination_message
    if not message:
        return None, "the pod handed over no result"
    try:
        result = CompactResult.from_message(message)
    except ValueError:
        start = message if len(message) <= MAX_SHOWN else f"{message[:MAX_SHOWN]}..."
        return None, f"the termination message is no whole result: {start}"
    told = (result.run, result.attempt, result.point_hash)
    if told != (job.run, job.attempt, point_hash):
        return None, (
            f"the termination message is that of run {result.run}, attempt {result.attempt}, "
            f"point {result.point_hash}"
        )
    succeeded = result.outcome is Outcome.SUCCEEDED
    if succeeded is not (pod.state is AttemptState.SUCCEEDED):
        return None, (
            f"the termination message says {result.outcome}, but the pod has {pod.state.lower()}"
        )
    return result, ""


def _ended_without_pod(job: JobState, pod: PodState | None, now: float) -> AttemptOutcome:
    """Judge an attempt whose job is over while its pod is gone or tells nothing of it."""
    started_at = (pod.started_at if pod else None) or now
    failure = FailureClass.PREEMPTED
    message = f"its pod was deleted before its result was read ({job.message or job.phase})"
    attempt = ObservedAttempt(job.attempt, AttemptState.FAILED, started_at, now, failure, message)
    return AttemptOutcome(attempt)
