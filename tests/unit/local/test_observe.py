"""Attempts on the disk, as lifecycle looks at them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpubench.api.enums import FailureClass, ValidityStatus
from gpubench.api.execution import AcceptanceRule
from gpubench.lifecycle import AttemptState
from gpubench.local.observe import observe_stored
from gpubench.store import StoredAttempt
from tests.unit.results import failed, run_spec, succeeded


def stored(path: Path, **fields: object) -> StoredAttempt:
    values: dict[str, object] = {"spec": None, "result": None, "damage": None} | fields
    return StoredAttempt(1, path, **values)  # type: ignore[arg-type]  # the fields are the caller's


def test_a_whole_result(tmp_path: Path) -> None:
    attempt = observe_stored(stored(tmp_path, result=succeeded(run_spec())), [])
    assert attempt.state is AttemptState.SUCCEEDED
    assert attempt.validity is ValidityStatus.VALID
    assert attempt.seconds == 60.0
    assert attempt.throughput == 640.0


def test_it_is_judged_by_the_bounds_of_today(tmp_path: Path) -> None:
    rule = AcceptanceRule.model_validate({"metric": "accuracy", "atLeast": "0.99"})
    attempt = observe_stored(stored(tmp_path, result=succeeded(run_spec())), [rule])
    assert attempt.validity is ValidityStatus.INVALID


def test_a_failed_attempt_keeps_its_class(tmp_path: Path) -> None:
    result = failed(run_spec(), FailureClass.NON_FINITE_LOSS)
    attempt = observe_stored(stored(tmp_path, result=result), [])
    assert attempt.state is AttemptState.FAILED
    assert attempt.failure is FailureClass.NON_FINITE_LOSS
    assert attempt.message == "it went wrong"


@pytest.mark.parametrize(
    ("exit_code", "failure"),
    [
        (None, FailureClass.KILLED),
        (-9, FailureClass.KILLED),
        (1, FailureClass.RESULT_MISSING),
        (3, FailureClass.ENVIRONMENT),
    ],
)
def test_an_attempt_without_a_result(
    tmp_path: Path, exit_code: int | None, failure: FailureClass
) -> None:
    attempt = observe_stored(stored(tmp_path, damage="it was cut off"), [], exit_code)
    assert (attempt.state, attempt.failure) == (AttemptState.FAILED, failure)
    assert attempt.ended_at is not None
    assert attempt.started_at <= attempt.ended_at
