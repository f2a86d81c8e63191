"""Statuses as reports and tables."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gpubench.analysis.inputs import Verdict
from gpubench.api.enums import RunPhase
from gpubench.cluster.errors import ClusterError
from gpubench.cluster.statuses import list_entry, report_input, runs_outside, what_happened
from tests.unit.cluster.objects import (
    METADATA,
    attempt,
    benchmark,
    compact,
    failure,
    planned,
    run_object,
    spec_of,
)
from tests.unit.results import failed, succeeded

NOW = datetime(2026, 1, 1, 2, 3, 4, tzinfo=UTC)


def test_every_run_of_the_sweep_is_in_the_report() -> None:
    done = run_object(
        planned(),
        phase="Succeeded",
        attempts=[attempt(1, "Failed", failure=failure()), attempt(2, "Succeeded")],
        result=compact(succeeded(spec_of(planned(), attempt=2))),
        validity={"status": "Valid"},
    )
    found = report_input(benchmark(), [done], "here", NOW)
    first, second = found.runs
    assert (first.verdict, first.attempt_count, len(first.attempts)) == (Verdict.VALID, 2, 2)
    assert first.accepted is not None
    assert first.accepted.identity.attempt == 2
    assert (second.verdict, second.attempt_count) == (Verdict.MISSING, 0)
    assert [run.parameters for run in found.runs] == [{"gpus": 1}, {"gpus": 2}]


def test_a_run_that_was_given_up_tells_its_last_failure() -> None:
    gone = run_object(
        planned(),
        phase="Failed",
        attempts=[attempt(1, "Failed", failure=failure("it went wrong", "Crash"))],
        result=compact(failed(spec_of(planned()))),
    )
    run = report_input(benchmark(), [gone], "here", NOW).runs[0]
    assert run.verdict is Verdict.FAILED
    assert run.failure is not None
    assert run.failure.message == "it went wrong"


def test_runs_that_no_value_of_the_sweep_asks_for_are_told_apart() -> None:
    wider = benchmark(sweep={"matrix": {"gpus": [1]}})
    runs = [run_object(planned(0)), run_object(planned(1))]
    assert runs_outside(wider, runs) == [planned(1).name]
    assert len(report_input(wider, runs, "here", NOW).runs) == 1


def test_runs_of_another_version_are_not_taken_for_missing_ones() -> None:
    other = run_object(planned()).model_copy(
        update={"metadata": run_object(planned()).metadata.model_copy(update={"name": "demo-x-1"})}
    )
    with pytest.raises(ClusterError, match="another version"):
        report_input(benchmark(), [other], "here", NOW)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"phase": "Running", "attempts": [attempt(1, "Running")]}, ""),
        (
            {"phase": "Retrying", "attempts": [attempt(1, "Failed", failure=failure())]},
            "NodeLost: node n1 is gone",
        ),
        (
            {
                "phase": "Invalid",
                "attempts": [attempt(1, "Succeeded")],
                "validity": {
                    "status": "Invalid",
                    "failedGates": [{"name": "Clocks"}, {"name": "Acceptance", "message": "slow"}],
                },
            },
            "Clocks; slow",
        ),
    ],
)
def test_what_happened(status: dict[str, object], words: str) -> None:
    assert what_happened(run_object(planned(), **status)) == words


def test_a_run_without_an_object_waits() -> None:
    assert what_happened(None) == ""


def test_a_listed_benchmark() -> None:
    status = {
        "phase": "Running",
        "runs": "7/24",
        "progress": {"total": 24, "failed": 1, "succeeded": 6},
        "estimatedCompletionTime": "2026-01-01T02:04:04Z",
    }
    entry = list_entry({"metadata": METADATA, "spec": {}, "status": status}, NOW)
    assert (entry.namespace, entry.name, entry.phase) == ("team", "demo", "Running")
    assert (entry.runs, entry.failed, entry.time_to_go) == ("7/24", 1, 60.0)
    assert entry.age == 2 * 3600 + 3 * 60 + 4


def test_a_listed_benchmark_that_no_operator_has_seen_or_that_is_of_a_later_version() -> None:
    assert list_entry({"metadata": METADATA, "spec": {}}, NOW).phase == RunPhase.PENDING.value
    later = {"phase": "Archived", "progress": {"total": 2, "succeeded": 2}, "new": {}}
    entry = list_entry({"metadata": METADATA, "spec": {"new": 1}, "status": later}, NOW)
    assert (entry.phase, entry.runs, entry.time_to_go) == ("Archived", "2/2", None)
