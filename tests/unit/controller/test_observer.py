"""A run as its record, its jobs and their pods show it."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.api.enums import (
    AcceptanceMetric,
    AttemptState,
    FailureClass,
    ValidityStatus,
)
from gpubench.api.execution import AcceptanceRule
from gpubench.backends import JobPhase
from gpubench.controller.cache import BenchmarkCache
from gpubench.controller.observer import (
    RunView,
    doubtful_jobs,
    finished_jobs,
    has_ended,
    jobs_of,
    missing_attempts,
    started,
    stopped,
    view_run,
    waiting_jobs,
)
from gpubench.lifecycle import StopAttempt, make_run_status
from tests.unit.backends.objects import CREATED, RUNS_NOW, job_state, pod_state, ran
from tests.unit.controller.objects import RUN, cache_of, own_job, own_pod, run
from tests.unit.lifecycle.observations import failed, observed_run, policy, running
from tests.unit.lifecycle.results import good_result

NOW = CREATED + 100
RESULT = good_result().model_copy(
    update={"run": RUN.name, "point_hash": RUN.point.point_hash, "attempt": 1}
)
SUCCESS = ran(0, RESULT.to_message())


def view(cache: BenchmarkCache, rules: list[AcceptanceRule] | None = None) -> RunView:
    return view_run(RUN, cache.runs.get(RUN.name), cache, rules or [], NOW)


def recorded(*attempts: Any) -> dict[str, Any]:
    """Return the status of a run after attempts."""
    status = make_run_status(observed_run(*attempts, name=RUN.name), policy(), None, [], [], NOW)
    return status.to_json_dict()


def states(found: RunView) -> list[tuple[int, AttemptState]]:
    return [(attempt.number, attempt.state) for attempt in found.run.attempts]


def test_run_that_is_not_made_yet_has_no_attempts() -> None:
    assert states(view(cache_of())) == []


def test_job_is_an_attempt() -> None:
    assert states(view(cache_of(run(), own_job()))) == [(1, AttemptState.PENDING)]
    with_pod = cache_of(run(), own_job(), own_pod(RUNS_NOW))
    assert states(view(with_pod)) == [(1, AttemptState.RUNNING)]


def test_job_of_a_run_that_is_gone_is_not_this_runs() -> None:
    cache = cache_of(run(uid="uid-new-run"), own_job())
    assert jobs_of(cache, cache.runs[RUN.name]) == []
    assert states(view(cache)) == []


def test_result_comes_with_the_attempt() -> None:
    found = view(cache_of(run(), own_job(), own_pod(SUCCESS, phase="Succeeded")))
    assert states(found) == [(1, AttemptState.SUCCEEDED)]
    assert found.result == RESULT


@pytest.mark.parametrize(
    ("at_least", "validity"), [("0.9", ValidityStatus.VALID), ("0.99", ValidityStatus.INVALID)]
)
def test_result_is_judged_by_the_present_rules_not_by_the_pods(
    at_least: str, validity: ValidityStatus
) -> None:
    rules = [AcceptanceRule(metric=AcceptanceMetric.ACCURACY, at_least=at_least)]
    found = view(cache_of(run(), own_job(), own_pod(SUCCESS, phase="Succeeded")), rules)
    assert found.run.accepted is not None
    assert found.run.accepted.validity is validity


def test_what_is_recorded_stays_whatever_its_job_says_later() -> None:
    cache = cache_of(run(recorded(failed())), own_job(), own_pod(SUCCESS, phase="Succeeded"))
    assert states(view(cache)) == [(1, AttemptState.FAILED)]


def test_attempt_whose_job_was_deleted_has_failed_without_blame() -> None:
    cache = cache_of(run(recorded(running(since=CREATED))))
    assert missing_attempts(cache, cache.runs[RUN.name]) == [1]
    (attempt,) = view(cache).run.attempts
    assert (attempt.state, attempt.failure) == (AttemptState.FAILED, FailureClass.PREEMPTED)
    assert attempt.message == f"its job {RUN.name}-1 was deleted"
    assert (attempt.started_at, attempt.ended_at) == (CREATED, NOW)


def test_attempt_that_had_begun_goes_on_while_its_pod_is_replaced() -> None:
    """Its job is old, but it has not been waiting to start since then."""
    cache = cache_of(run(recorded(running(since=CREATED + 7))), own_job())
    (attempt,) = view(cache).run.attempts
    assert (attempt.state, attempt.started_at) == (AttemptState.RUNNING, CREATED + 7)


@pytest.mark.parametrize(
    ("status", "container", "doubtful"),
    [
        ({}, None, True),
        ({}, RUNS_NOW, True),
        ({}, SUCCESS, False),
        (recorded(failed()), None, False),
    ],
)
def test_jobs_that_are_over_without_their_pods_word_are_doubted(
    status: dict[str, Any], container: dict[str, Any] | None, *, doubtful: bool
) -> None:
    cache = cache_of(run(status), own_job({"Succeeded": "True"}))
    if container is not None:
        cache.put(own_pod(container))
    assert bool(doubtful_jobs(cache, cache.runs[RUN.name])) is doubtful


def test_jobs_of_recorded_attempts_are_finished_the_others_wait() -> None:
    cache = cache_of(run(), own_job())
    record = cache.runs[RUN.name]
    assert finished_jobs(cache, record) == []
    assert [job.attempt for job, _ in waiting_jobs(cache, record)] == [1]
    cache.put(run(recorded(failed()), version=9))
    record = cache.runs[RUN.name]
    assert [(job.attempt, state) for job, state in finished_jobs(cache, record)] == [
        (1, AttemptState.FAILED)
    ]
    assert waiting_jobs(cache, record) == []


def test_stopped_attempt_has_failed_and_the_others_stay() -> None:
    before = RunView(observed_run(failed(), running(since=50.0)))
    stop = StopAttempt("run", 2, FailureClass.TIMEOUT, "too long")
    after = stopped(before, stop, 70.0).run.attempts
    assert after[0] == before.run.attempts[0]
    assert (after[1].state, after[1].failure) == (AttemptState.FAILED, FailureClass.TIMEOUT)
    assert (after[1].started_at, after[1].ended_at) == (50.0, 70.0)


def test_started_attempt_is_pending_since_its_job_was_made() -> None:
    (attempt,) = started(RunView(observed_run()), job_state()).run.attempts
    assert (attempt.state, attempt.started_at) == (AttemptState.PENDING, CREATED)


@pytest.mark.parametrize(
    ("conditions", "container", "ended"),
    [
        ({}, None, False),
        ({}, RUNS_NOW, False),
        ({}, SUCCESS, True),
        ({"Failed": "True"}, None, True),
        ({"Failed": "True"}, RUNS_NOW, False),
    ],
)
def test_nothing_of_an_attempt_runs_once_its_pod_has_ended(
    conditions: dict[str, str], container: dict[str, Any] | None, *, ended: bool
) -> None:
    pod = pod_state(container) if container else None
    assert has_ended(job_state(conditions), pod) is ended
    assert job_state().phase is JobPhase.ACTIVE
