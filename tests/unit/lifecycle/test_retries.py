"""Which failures are tried again, how often and when."""

from __future__ import annotations

import pytest

from gpubench.api.enums import FailureClass, RunPhase, ValidityStatus
from gpubench.lifecycle import RETRY_RULES, run_state
from gpubench.lifecycle.retries import MAX_BACKOFF_SECONDS, MAX_BLAMELESS_RETRIES
from tests.unit.lifecycle.observations import failed, observed_run, policy, running, succeeded

NEVER = [FailureClass.BAD_SPEC, FailureClass.DATA_MISSING, FailureClass.NON_FINITE_LOSS]
ONCE = [FailureClass.OUT_OF_MEMORY, FailureClass.ENVIRONMENT, FailureClass.TIMEOUT]
BY_LIMIT = [
    FailureClass.NO_PROGRESS,
    FailureClass.CRASH,
    FailureClass.KILLED,
    FailureClass.RESULT_MISSING,
]
BLAMELESS = [FailureClass.PREEMPTED, FailureClass.NODE_LOST]


def test_every_failure_class_has_a_rule() -> None:
    assert set(RETRY_RULES) == set(FailureClass)
    assert {*NEVER, *ONCE, *BY_LIMIT, *BLAMELESS} == set(FailureClass)


@pytest.mark.parametrize(
    ("failures", "retry_limit", "phase"),
    [
        *(([kind], 5, RunPhase.FAILED) for kind in NEVER),
        *(([kind], 5, RunPhase.RETRYING) for kind in ONCE),
        *(([kind, kind], 5, RunPhase.FAILED) for kind in ONCE),
        *(([kind], 0, RunPhase.FAILED) for kind in ONCE + BY_LIMIT),
        *(([kind] * 2, 2, RunPhase.RETRYING) for kind in BY_LIMIT),
        *(([kind] * 3, 2, RunPhase.FAILED) for kind in BY_LIMIT),
        *(([kind] * 9, 0, RunPhase.RETRYING) for kind in BLAMELESS),
        *(([kind] * (MAX_BLAMELESS_RETRIES + 1), 0, RunPhase.FAILED) for kind in BLAMELESS),
        ([FailureClass.PREEMPTED, FailureClass.CRASH], 1, RunPhase.RETRYING),
        ([FailureClass.CRASH, FailureClass.PREEMPTED, FailureClass.CRASH], 1, RunPhase.FAILED),
        ([FailureClass.OUT_OF_MEMORY, FailureClass.CRASH], 2, RunPhase.RETRYING),
    ],
)
def test_retries_by_failure_class(
    failures: list[FailureClass], retry_limit: int, phase: RunPhase
) -> None:
    run = observed_run(*(failed(kind) for kind in failures))
    assert run_state(run, policy(retry_limit=retry_limit)).phase is phase


@pytest.mark.parametrize(
    ("failures", "ready_at"),
    [
        ([], 0.0),
        ([FailureClass.CRASH], 110.0),
        ([FailureClass.CRASH, FailureClass.CRASH], 120.0),
        ([FailureClass.CRASH, FailureClass.PREEMPTED], 110.0),
        ([FailureClass.PREEMPTED], 110.0),
    ],
)
def test_wait_before_a_retry_doubles_with_failures_that_count(
    failures: list[FailureClass], ready_at: float
) -> None:
    run = observed_run(*(failed(kind, end=100.0) for kind in failures))
    assert run_state(run, policy()).ready_at == ready_at


def test_wait_before_a_retry_is_bounded() -> None:
    run = observed_run(*(failed(end=0.0) for _ in range(10)))
    state = run_state(run, policy(retry_limit=10, retry_backoff_seconds=3600))
    assert state.ready_at == MAX_BACKOFF_SECONDS


def test_forgiven_failures_do_not_count() -> None:
    attempts = [failed(FailureClass.BAD_SPEC), failed(), failed(), failed()]
    assert run_state(observed_run(*attempts), policy()).phase is RunPhase.FAILED
    assert run_state(observed_run(*attempts, forgiven=4), policy()).phase is RunPhase.PENDING


@pytest.mark.parametrize(
    ("validity", "phase"),
    [
        (ValidityStatus.VALID, RunPhase.SUCCEEDED),
        (ValidityStatus.INVALID, RunPhase.INVALID),
        (None, RunPhase.INVALID),
    ],
)
def test_a_result_ends_the_run_and_only_a_valid_one_succeeds(
    validity: ValidityStatus, phase: RunPhase
) -> None:
    assert run_state(observed_run(failed(), succeeded(validity=validity)), policy()).phase is phase


def test_first_result_stands_whatever_came_after() -> None:
    run = observed_run(succeeded(throughput=1.0), failed(), succeeded(throughput=2.0))
    assert run.accepted is not None
    assert run.accepted.throughput == 1.0


def test_live_attempt_makes_the_run_running() -> None:
    assert run_state(observed_run(failed(), running()), policy()).phase is RunPhase.RUNNING
