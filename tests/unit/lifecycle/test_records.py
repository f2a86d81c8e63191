"""A run's status and its attempts tell the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.api.compact import CompactResult
from gpubench.api.enums import (
    AcceptanceMetric,
    AttemptState,
    FailureClass,
    RunPhase,
    ValidityStatus,
)
from gpubench.api.execution import AcceptanceRule
from gpubench.api.gates import compact_validity
from gpubench.api.run import MAX_ATTEMPTS, MAX_MESSAGE_LENGTH, GPUBenchmarkRunStatus
from gpubench.lifecycle import (
    ObservedAttempt,
    ObservedRun,
    Policy,
    finished_attempts,
    make_run_status,
    run_state,
)
from gpubench.lifecycle.observed import LIVE_STATES
from gpubench.lifecycle.retries import MAX_BLAMELESS_RETRIES
from tests.unit.lifecycle.observations import failed, observed_run, policy, running, succeeded
from tests.unit.lifecycle.results import bad_result, good_result

STRICT = [AcceptanceRule(metric=AcceptanceMetric.ACCURACY, at_least="0.98")]
LENIENT = [AcceptanceRule(metric=AcceptanceMetric.ACCURACY, at_least="0.9")]
MOMENTS = st.floats(1e9, 3e9)
MESSAGES = st.text(max_size=40) | st.just("long " * MAX_MESSAGE_LENGTH)


def status_of(
    run: ObservedRun,
    result: CompactResult | None = None,
    rules: list[AcceptanceRule] | None = None,
    now: float = 500.0,
) -> GPUBenchmarkRunStatus:
    return make_run_status(run, policy(), result, rules or [], [], now)


@st.composite
def attempts(draw: st.DrawFn, *, rules: list[AcceptanceRule]) -> list[ObservedAttempt]:
    """Draw a history: failures, then perhaps a success or a live attempt."""
    history = []
    for number in range(1, draw(st.integers(0, 5)) + 1):
        start = draw(MOMENTS)
        end = start + draw(st.sampled_from([0.0, 0.0004, 0.1, 12.3456789, 1e5]))
        failure = draw(st.none() | st.sampled_from(FailureClass))
        state = AttemptState.FAILED
        history.append(ObservedAttempt(number, state, start, end, failure, draw(MESSAGES)))
    number, start = len(history) + 1, draw(MOMENTS)
    match draw(st.sampled_from(AttemptState)):
        case AttemptState.SUCCEEDED:
            judged = compact_validity(good_result(), rules)
            assert judged is not None
            end = start + draw(st.floats(0, 1e5))
            last = ObservedAttempt(number, AttemptState.SUCCEEDED, start, end)
            validity = judged.status
            history.append(
                ObservedAttempt(number, last.state, start, end, validity=validity, throughput=640.0)
            )
        case AttemptState.PENDING | AttemptState.RUNNING as state:
            history.append(ObservedAttempt(number, state, start, message=draw(MESSAGES)))
        case AttemptState.FAILED:
            pass
    return history


@given(data=st.data(), rules=st.sampled_from([[], STRICT, LENIENT]), policy_=st.integers(0, 4))
def test_status_read_and_written_again_is_the_same(
    data: st.DataObject, rules: list[AcceptanceRule], policy_: int
) -> None:
    """Else the operator would write for ever."""
    rule = policy(retry_limit=policy_)
    history = data.draw(attempts(rules=rules))
    is_over = bool(history) and history[-1].state is AttemptState.SUCCEEDED
    result = good_result() if is_over else data.draw(st.sampled_from([None, bad_result()]))
    run = observed_run(*history, gpus=3)
    status = make_run_status(run, rule, result, rules, [], 2e9)
    assert written_again(status, run, rule, rules) == status


def written_again(
    status: GPUBenchmarkRunStatus, run: ObservedRun, rule: Policy, rules: list[AcceptanceRule]
) -> GPUBenchmarkRunStatus:
    read = GPUBenchmarkRunStatus.model_validate(status.to_json_dict())
    live = [attempt for attempt in run.attempts if attempt.state in LIVE_STATES]
    known = ObservedRun(
        run.name, run.point_hash, run.gpus, (*finished_attempts(read, rules), *live)
    )
    return make_run_status(known, rule, read.result, rules, read.conditions, 2e9 + 1000)


def test_every_history_that_retries_allow_has_room_in_the_status() -> None:
    """A failure that is forgotten would be tried again for ever."""
    generous = policy(retry_limit=10)
    blameless = [FailureClass.PREEMPTED, FailureClass.NODE_LOST]
    history = [failed(FailureClass.CRASH) for _ in range(generous.retry_limit)]
    while run_state(observed_run(*history), generous).phase is not RunPhase.FAILED:
        history.append(failed(blameless[len(history) % 2]))
        assert len(history) <= MAX_ATTEMPTS
    assert len(history) == generous.retry_limit + 1 + MAX_BLAMELESS_RETRIES
    assert len(status_of(observed_run(*history)).attempts) == len(history)


@pytest.mark.parametrize(
    ("run", "phase", "complete", "why_failed"),
    [
        (observed_run(), RunPhase.PENDING, "False", "NotFailed"),
        (observed_run(running()), RunPhase.RUNNING, "False", "NotFailed"),
        (observed_run(failed()), RunPhase.RETRYING, "False", "NotFailed"),
        (observed_run(failed(), running()), RunPhase.RUNNING, "False", "NotFailed"),
        (observed_run(succeeded()), RunPhase.SUCCEEDED, "True", "NotFailed"),
        (observed_run(failed(), succeeded()), RunPhase.SUCCEEDED, "True", "NotFailed"),
        (
            observed_run(succeeded(validity=ValidityStatus.INVALID)),
            RunPhase.INVALID,
            "True",
            "NotFailed",
        ),
        (observed_run(failed(FailureClass.BAD_SPEC)), RunPhase.FAILED, "False", "BadSpec"),
        (observed_run(*[failed()] * 3), RunPhase.FAILED, "False", "Crash"),
    ],
)
def test_phase_and_conditions(
    run: ObservedRun, phase: RunPhase, complete: str, why_failed: str
) -> None:
    status = status_of(run)
    found = {condition.type: condition for condition in status.conditions}
    assert status.phase is phase
    assert (found["Complete"].status, found["Complete"].reason) == (complete, phase)
    failed_status = "False" if why_failed == "NotFailed" else "True"
    assert (found["Failed"].status, found["Failed"].reason) == (failed_status, why_failed)


def test_failed_run_says_how_often_it_was_tried_and_why_it_was_given_up() -> None:
    attempt = ObservedAttempt(1, AttemptState.FAILED, 1.0, 2.0, FailureClass.BAD_SPEC, "no such")
    told = status_of(observed_run(attempt)).conditions[1]
    assert told.message == "given up after 1 attempts; the last one: BadSpec: no such"


def test_attempts_name_their_jobs_and_times() -> None:
    status = status_of(observed_run(failed(end=100.0), running(since=120.25), name="a-b-1"))
    assert [attempt.to_json_dict() for attempt in status.attempts] == [
        {
            "number": 1,
            "state": "Failed",
            "jobName": "a-b-1-1",
            "startTime": "1970-01-01T00:00:50.000Z",
            "completionTime": "1970-01-01T00:01:40.000Z",
            "failure": {"failureClass": "Crash", "message": ""},
        },
        {
            "number": 2,
            "state": "Running",
            "jobName": "a-b-1-2",
            "startTime": "1970-01-01T00:02:00.250Z",
        },
    ]


def test_timing_covers_all_attempts() -> None:
    run = observed_run(failed(end=100.0), succeeded(start=120.0, seconds=30.0), gpus=4)
    timing = status_of(run, good_result()).timing
    assert timing.to_json_dict() == {
        "startTime": "1970-01-01T00:00:50.000Z",
        "completionTime": "1970-01-01T00:02:30.000Z",
        "gpuSeconds": 4 * (50 + 30),
    }


def test_run_that_waits_for_its_retry_says_until_when_and_is_not_over() -> None:
    timing = status_of(observed_run(failed(end=100.0))).timing
    assert timing.retry_time == "1970-01-01T00:01:50.000Z"
    assert timing.completion_time is None


def test_attempt_that_never_began_has_no_start() -> None:
    never = ObservedAttempt(1, AttemptState.FAILED, 7.0, 7.0, FailureClass.ENVIRONMENT)
    waiting = ObservedAttempt(1, AttemptState.PENDING, 7.0)
    for attempt in (never, waiting):
        status = status_of(observed_run(attempt))
        assert status.attempts[0].start_time is None
        assert status.timing.gpu_seconds == 0.0


@pytest.mark.parametrize(
    ("rules", "validity"), [(STRICT, ValidityStatus.INVALID), (LENIENT, ValidityStatus.VALID)]
)
def test_finished_attempts_are_judged_by_the_present_rules(
    rules: list[AcceptanceRule], validity: ValidityStatus
) -> None:
    status = status_of(observed_run(failed(), succeeded()), good_result(accuracy=0.97))
    _, accepted = finished_attempts(status, rules)
    assert (accepted.state, accepted.validity) == (AttemptState.SUCCEEDED, validity)


def test_success_whose_result_was_taken_away_is_not_valid() -> None:
    status = status_of(observed_run(succeeded()), good_result())
    (accepted,) = finished_attempts(status.model_copy(update={"result": None}), [])
    assert run_state(observed_run(accepted), policy()).phase is RunPhase.INVALID


def test_live_attempts_are_not_taken_from_a_status() -> None:
    status = status_of(observed_run(failed(), running()))
    assert [attempt.number for attempt in finished_attempts(status, [])] == [1]
