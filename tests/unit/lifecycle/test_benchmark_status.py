"""A benchmark's status: every phase, every reason, and an estimate that does not flicker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.api.benchmark import Condition, GPUBenchmarkStatus
from gpubench.api.enums import BenchmarkPhase, FailureClass, ValidityStatus
from gpubench.lifecycle import (
    Observation,
    ObservedRun,
    Obstacle,
    Policy,
    is_worth_writing,
    make_rejected_status,
    make_status,
    summarize,
)
from gpubench.lifecycle.benchmark_status import MIN_ETA_TOLERANCE_SECONDS
from tests.unit.lifecycle.observations import failed, observed_run, policy, running, succeeded

DONE = observed_run(succeeded(throughput=640.0), name="done")
GIVEN_UP = observed_run(failed(FailureClass.BAD_SPEC), name="given-up")
LIVE = observed_run(running(since=50.0), name="live")
NEW = observed_run(name="new")
NO_GPUS = Obstacle("NotEnoughGPUs", "add a node")
NO_BUDGET = policy(failure_budget=0)
SUSPENDED = policy(suspended=True)


def status_of(
    *runs: ObservedRun,
    rule: Policy | None = None,
    obstacles: tuple[Obstacle, ...] = (),
    previous: GPUBenchmarkStatus | None = None,
    now: float = 100.0,
) -> GPUBenchmarkStatus:
    observation = Observation(summarize(rule or policy(), runs, now), 7, obstacles)
    return make_status(observation, previous or GPUBenchmarkStatus(), now)


def conditions_of(status: GPUBenchmarkStatus) -> dict[str, Condition]:
    return {condition.type: condition for condition in status.conditions}


@pytest.mark.parametrize(
    ("runs", "rule", "obstacles", "phase", "true", "progressing"),
    [
        ([NEW], None, [], "Pending", {"Progressing"}, "WaitingToStart"),
        ([NEW], None, [NO_GPUS], "Pending", {"Progressing", "Degraded"}, "WaitingForObstacle"),
        ([LIVE, NEW], None, [], "Running", {"Progressing"}, "RunsInProgress"),
        ([LIVE], None, [NO_GPUS], "Running", {"Progressing", "Degraded"}, "RunsInProgress"),
        ([DONE, NEW], None, [], "Running", {"Progressing"}, "WaitingToStart"),
        ([DONE, NEW], SUSPENDED, [], "Suspended", set(), "Suspended"),
        ([DONE], None, [], "Completed", {"Complete"}, "Finished"),
        ([DONE], None, [NO_GPUS], "Completed", {"Complete"}, "Finished"),
        ([DONE, GIVEN_UP], None, [], "Completed", {"Complete"}, "Finished"),
        ([DONE, GIVEN_UP], NO_BUDGET, [], "Failed", {"Failed"}, "Finished"),
        ([GIVEN_UP, NEW], NO_BUDGET, [], "Failed", {"Failed"}, "Finished"),
        ([GIVEN_UP, LIVE], NO_BUDGET, [], "Running", {"Progressing"}, "RunsInProgress"),
    ],
)
def test_phase_and_conditions(
    runs: list[ObservedRun],
    rule: Policy | None,
    obstacles: list[Obstacle],
    phase: str,
    true: set[str],
    progressing: str,
) -> None:
    status = status_of(*runs, rule=rule, obstacles=tuple(obstacles))
    found = conditions_of(status)
    assert status.phase == phase
    assert {kind for kind, c in found.items() if c.status == "True"} == {"Accepted", *true}
    assert found["Progressing"].reason == progressing
    assert all(
        condition.reason and condition.observed_generation == 7 for condition in found.values()
    )


def test_degraded_tells_the_first_obstacle() -> None:
    found = conditions_of(status_of(NEW, obstacles=(NO_GPUS, Obstacle("Later", "not told"))))
    assert (found["Degraded"].reason, found["Degraded"].message) == ("NotEnoughGPUs", "add a node")


def test_spent_budget_says_how_many_failed_and_what_to_do() -> None:
    found = conditions_of(status_of(GIVEN_UP, NEW, rule=NO_BUDGET))
    assert found["Failed"].reason == "FailureBudgetSpent"
    assert found["Failed"].message.startswith("1 runs failed")
    assert "failureBudget" in found["Failed"].message


def test_status_counts_and_times() -> None:
    status = status_of(DONE, GIVEN_UP, observed_run(running(since=90.0), gpus=2), NEW)
    told = status.to_json_dict()
    assert told["runs"] == "2/4"
    assert told["progress"]["total"] == 4
    assert told["observedGeneration"] == 7
    assert told["startTime"] == "1970-01-01T00:00:00.000Z"
    assert told["gpuSeconds"] == 100 + 50 + 2 * 10
    assert told["best"] == {"run": "done", "throughput": 640.0}
    assert "completionTime" not in told


def test_completed_benchmark_has_an_end_and_no_estimate() -> None:
    status = status_of(DONE, now=500.0)
    assert status.completion_time == "1970-01-01T00:01:40.000Z"
    assert status.estimated_completion_time is None


def test_start_time_stays_once_told() -> None:
    """It keeps the spec from changing, so it must not go with the runs that it came from."""
    before = status_of(DONE, NEW)
    assert status_of(NEW, previous=before).start_time == before.start_time


def test_invalid_run_is_not_the_best() -> None:
    invalid = observed_run(succeeded(validity=ValidityStatus.INVALID, throughput=9.0))
    assert status_of(invalid, NEW).best is None


@pytest.mark.parametrize(
    ("moved_by", "told_again"),
    [(0.0, True), (MIN_ETA_TOLERANCE_SECONDS - 1, True), (MIN_ETA_TOLERANCE_SECONDS + 1, False)],
)
def test_estimate_moves_only_by_much(moved_by: float, *, told_again: bool) -> None:
    first = status_of(DONE, NEW, now=200.0)
    later = status_of(DONE, NEW, previous=first, now=200.0 + moved_by)
    same = later.estimated_completion_time == first.estimated_completion_time
    assert same is told_again


def test_estimate_that_has_passed_is_not_told() -> None:
    first = status_of(DONE, observed_run(running(since=200.0)), now=200.0)
    later = status_of(DONE, observed_run(running(since=200.0)), previous=first, now=301.0)
    assert later.estimated_completion_time != first.estimated_completion_time


def test_tolerance_grows_with_the_time_to_go() -> None:
    long = observed_run(succeeded(seconds=10_000.0), name="long")
    first = status_of(long, NEW, now=10_000.0)
    later = status_of(long, NEW, previous=first, now=10_500.0)
    assert later.estimated_completion_time == first.estimated_completion_time


@given(now=st.floats(100.0, 1e6), later=st.floats(0.0, 1e6))
def test_finished_benchmark_is_written_once(now: float, later: float) -> None:
    first = status_of(DONE, GIVEN_UP, now=now)
    again = GPUBenchmarkStatus.model_validate(first.to_json_dict())
    assert not is_worth_writing(status_of(DONE, GIVEN_UP, previous=again, now=now + later), again)


def test_gpu_time_alone_is_not_worth_writing() -> None:
    first = status_of(LIVE, now=100.0)
    later = status_of(LIVE, previous=first, now=160.0)
    assert later.gpu_seconds != first.gpu_seconds
    assert not is_worth_writing(later, first)
    assert is_worth_writing(status_of(DONE, previous=first), first)


def test_rejected_spec_fails_and_keeps_what_was_counted() -> None:
    before = status_of(DONE, NEW, now=200.0)
    assert before.estimated_completion_time is not None
    status = make_rejected_status("InvalidSpec", "spec.gpus: 99", 8, before, 300.0)
    found = conditions_of(status)
    assert status.phase is BenchmarkPhase.FAILED
    assert {kind for kind, c in found.items() if c.status == "True"} == {"Failed"}
    assert (found["Accepted"].reason, found["Accepted"].message) == ("InvalidSpec", "spec.gpus: 99")
    assert (status.progress, status.start_time) == (before.progress, before.start_time)
    assert status.estimated_completion_time is None, "nothing will be done by then"
    assert make_rejected_status("InvalidSpec", "spec.gpus: 99", 8, status, 900.0) == status


def test_mended_spec_is_accepted_again() -> None:
    rejected = make_rejected_status("InvalidSpec", "no", 8, GPUBenchmarkStatus(), 300.0)
    found = conditions_of(status_of(NEW, previous=rejected, now=400.0))
    assert found["Accepted"].status == "True"
    assert found["Failed"].status == "False"
    assert found["Failed"].last_transition_time == "1970-01-01T00:06:40.000Z"
