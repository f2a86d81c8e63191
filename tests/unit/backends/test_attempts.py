"""Where an attempt stands, from its job and its pod together."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.api.enums import AttemptState, Backend, FailureClass, ValidityStatus
from gpubench.backends import (
    BACKENDS,
    AttemptOutcome,
    JobPhase,
    JobState,
    PodState,
    observe_attempt,
    pod_is_overdue,
    read_job,
)
from tests.unit.backends.objects import CREATED, RUNS_NOW, job, job_state, pod_state, ran
from tests.unit.lifecycle.results import bad_result, good_result
from tests.unit.results import run_spec

NOW = CREATED + 100
POINT = "abcdefghij"
RUNNING = {"Created": "True", "Running": "True"}
SUCCEEDED = {"Running": "False", "Succeeded": "True"}
FAILED = {"Running": "False", "Failed": "True"}


def observe(state: JobState, pod: PodState | None, now: float = NOW) -> AttemptOutcome:
    return observe_attempt(state, pod, POINT, now)


@pytest.mark.parametrize(
    ("backend", "success"),
    [
        (Backend.PYTORCH_JOB, "Succeeded"),
        (Backend.JOB, "Complete"),
        (Backend.TRAIN_JOB, "Complete"),
    ],
)
@pytest.mark.parametrize(
    ("conditions", "suspend", "phase"),
    [
        ({}, False, JobPhase.ACTIVE),
        ({}, True, JobPhase.QUEUED),
        ({"Running": "True"}, False, JobPhase.ACTIVE),
        ({"Suspended": "True"}, True, JobPhase.QUEUED),
        ({"Suspended": "True"}, False, JobPhase.QUEUED),
        ({"Suspended": "False"}, False, JobPhase.ACTIVE),
        ({"Failed": "False"}, False, JobPhase.ACTIVE),
        ({"Failed": "True"}, False, JobPhase.FAILED),
        ({"success": "True"}, False, JobPhase.SUCCEEDED),
        ({"success": "True"}, True, JobPhase.SUCCEEDED),
    ],
)
def test_phases_of_jobs(
    backend: Backend, success: str, conditions: dict[str, str], phase: JobPhase, *, suspend: bool
) -> None:
    named = {success if kind == "success" else kind: is_ for kind, is_ in conditions.items()}
    body = job(named, suspend=suspend)
    body["spec"]["suspend"] = suspend
    state = read_job(BACKENDS[backend], body)
    assert state is not None
    assert state.phase is phase


def test_job_of_others_is_not_ours() -> None:
    other = job()
    other["metadata"]["labels"] = {}
    assert read_job(BACKENDS[Backend.JOB], other) is None


def test_job_without_a_pod_is_pending_since_it_was_made() -> None:
    attempt = observe(job_state(), None).attempt
    assert (attempt.state, attempt.started_at) == (AttemptState.PENDING, CREATED)
    assert attempt.message
    assert not attempt.queued


def test_queued_job_may_wait() -> None:
    attempt = observe(job_state(suspend=True), None).attempt
    assert (attempt.state, attempt.queued) == (AttemptState.PENDING, True)


def test_time_to_start_begins_when_the_queue_lets_a_job_go() -> None:
    released = job_state({"Suspended": "False"})
    attempt = observe(released, None).attempt
    assert (attempt.queued, attempt.started_at) == (False, CREATED + 500)


def test_time_to_start_begins_anew_with_a_pod_that_replaces_another() -> None:
    replacement = pod_state(created_at=CREATED + 5000, phase="Pending")
    assert observe(job_state(RUNNING), replacement).attempt.started_at == CREATED + 5000


def test_pending_pod_says_what_it_waits_for() -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    attempt = observe(job_state(), pod_state(waiting, phase="Pending")).attempt
    assert (attempt.state, attempt.message) == (
        AttemptState.PENDING,
        "ImagePullBackOff: no such image",
    )


def test_running_pod_is_a_running_attempt() -> None:
    attempt = observe(job_state(), pod_state(RUNS_NOW)).attempt
    assert (attempt.state, attempt.started_at) == (AttemptState.RUNNING, CREATED + 10)


def test_clock_of_a_node_that_is_late_does_not_bring_the_deadline_forward() -> None:
    late = {"running": {"startedAt": "1970-01-01T00:00:00Z"}}
    assert observe(job_state(), pod_state(late)).attempt.started_at == CREATED


def test_clock_of_a_node_that_is_early_does_not_put_off_the_retry() -> None:
    early = ran(1, start=NOW + 3600, end=NOW + 7200)
    attempt = observe(job_state(FAILED), pod_state(early, phase="Failed")).attempt
    assert attempt.ended_at == NOW
    assert NOW - 1 < attempt.started_at < NOW


def test_a_pod_that_ended_within_a_second_has_run() -> None:
    attempt = observe(
        job_state(FAILED), pod_state(ran(1, end=CREATED + 10), phase="Failed")
    ).attempt
    assert attempt.has_begun


def test_success_is_what_its_message_proves() -> None:
    message = good_result().to_message()
    outcome = observe(job_state(), pod_state(ran(0, message), phase="Succeeded"))
    assert outcome.result == good_result()
    attempt = outcome.attempt
    assert attempt.state is AttemptState.SUCCEEDED
    assert (attempt.started_at, attempt.ended_at) == (CREATED + 10, CREATED + 70)
    assert (attempt.validity, attempt.throughput) == (ValidityStatus.VALID, 640.0)


def test_failure_is_told_by_its_message() -> None:
    message = bad_result(failure=FailureClass.NON_FINITE_LOSS).to_message()
    outcome = observe(job_state(), pod_state(ran(1, message), phase="Failed"))
    assert outcome.attempt.failure is FailureClass.NON_FINITE_LOSS
    assert outcome.attempt.message == "it went wrong"
    assert outcome.result is not None


@pytest.mark.parametrize(
    ("told", "known"),
    [
        (FailureClass.KILLED, FailureClass.OUT_OF_MEMORY),
        (FailureClass.CRASH, FailureClass.OUT_OF_MEMORY),
        (FailureClass.TIMEOUT, FailureClass.TIMEOUT),
    ],
)
def test_the_kubelet_knows_of_a_kill_for_memory_that_looked_like_another(
    told: FailureClass, known: FailureClass
) -> None:
    container = ran(1, bad_result(failure=told).to_message(), reason="OOMKilled")
    attempt = observe(job_state(), pod_state(container, phase="Failed")).attempt
    assert attempt.failure is known
    assert "it went wrong" in attempt.message


GOOD = good_result().to_message()
OTHER_POINT = good_result().model_copy(update={"point_hash": "bcdefghijk"}).to_message()
OTHER_RUN = good_result().model_copy(update={"run": "demo-abcdefghij-2"}).to_message()
OTHER_ATTEMPT = good_result(run_spec(attempt=2)).to_message()


@pytest.mark.parametrize(
    ("container", "phase", "failure", "words"),
    [
        (ran(0), "Succeeded", FailureClass.RESULT_MISSING, "handed over no result"),
        (ran(0, GOOD[:-1]), "Succeeded", FailureClass.RESULT_MISSING, "no whole result"),
        (ran(0, "x" * 4096), "Succeeded", FailureClass.RESULT_MISSING, "no whole result: xxx"),
        (ran(0, "{}"), "Succeeded", FailureClass.RESULT_MISSING, "no whole result: {}"),
        (ran(0, "[" * 4000), "Succeeded", FailureClass.RESULT_MISSING, "no whole result"),
        (ran(0, "\ud800"), "Succeeded", FailureClass.RESULT_MISSING, "no whole result"),
        (ran(0, OTHER_RUN), "Succeeded", FailureClass.RESULT_MISSING, "run demo-abcdefghij-2"),
        (ran(0, OTHER_ATTEMPT), "Succeeded", FailureClass.RESULT_MISSING, "attempt 2"),
        (ran(0, OTHER_POINT), "Succeeded", FailureClass.RESULT_MISSING, "point bcdefghijk"),
        (ran(1, GOOD), "Failed", FailureClass.RESULT_MISSING, "says Succeeded, but the pod has"),
        (
            ran(0, bad_result().to_message()),
            "Succeeded",
            FailureClass.RESULT_MISSING,
            "says Failed, but the pod has succeeded",
        ),
        (ran(1), "Failed", FailureClass.RESULT_MISSING, "exit code 1"),
        (ran(137), "Failed", FailureClass.KILLED, "signal 9"),
        (ran(137, reason="OOMKilled"), "Failed", FailureClass.OUT_OF_MEMORY, "memory"),
        (ran(3, GOOD), "Failed", FailureClass.ENVIRONMENT, "results volume"),
        (None, "Failed", FailureClass.ENVIRONMENT, "before its container ran"),
    ],
)
def test_what_is_missing_cut_or_forged_fails_the_attempt(
    container: dict[str, Any] | None, phase: str, failure: FailureClass, words: str
) -> None:
    outcome = observe(job_state(), pod_state(container, phase=phase))
    assert outcome.attempt.state is AttemptState.FAILED
    assert outcome.attempt.failure is failure
    assert words in outcome.attempt.message
    assert outcome.result is None


@pytest.mark.parametrize(
    ("conditions", "pod", "overdue"),
    [
        (RUNNING, None, False),
        (SUCCEEDED, None, True),
        (FAILED, None, True),
        (SUCCEEDED, pod_state(RUNS_NOW), True),
        (SUCCEEDED, pod_state(ran(0), phase="Succeeded"), False),
    ],
)
def test_pods_that_are_looked_for(
    conditions: dict[str, str], pod: PodState | None, *, overdue: bool
) -> None:
    assert pod_is_overdue(job_state(conditions), pod) is overdue


@pytest.mark.parametrize("pod", [None, pod_state(RUNS_NOW)])
@pytest.mark.parametrize("conditions", [SUCCEEDED, FAILED])
def test_job_that_is_over_without_its_pods_word_has_no_result(
    conditions: dict[str, str], pod: PodState | None
) -> None:
    attempt = observe(job_state(conditions), pod).attempt
    assert (attempt.state, attempt.failure) == (AttemptState.FAILED, FailureClass.PREEMPTED)
    assert "deleted before its result was read" in attempt.message


def test_pod_is_believed_before_its_job_has_noticed() -> None:
    outcome = observe(job_state(RUNNING), pod_state(ran(0, GOOD)))
    assert outcome.attempt.state is AttemptState.SUCCEEDED
