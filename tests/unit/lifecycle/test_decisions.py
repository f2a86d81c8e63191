"""What is started and stopped, from what is observed."""

from __future__ import annotations

import pytest

from gpubench.api.enums import FailureClass, Isolation
from gpubench.lifecycle import (
    AttemptState,
    Capacity,
    ObservedAttempt,
    Policy,
    StartAttempt,
    StopAttempt,
    decide,
)
from gpubench.lifecycle.decisions import SUPERVISOR_GRACE_SECONDS
from tests.unit.lifecycle.observations import failed, observed_run, policy, running, succeeded


def started(decisions: object) -> list[tuple[str, int]]:
    assert isinstance(decisions, tuple)
    return [(d.run, d.attempt) for d in decisions if isinstance(d, StartAttempt)]


WAITING = [observed_run(name=name, gpus=gpus) for name, gpus in (("a", 2), ("b", 4), ("c", 1))]


@pytest.mark.parametrize(
    ("gpus", "isolation", "parallelism", "names"),
    [
        (4, Isolation.SHARED, None, ["a", "c"]),
        (7, Isolation.SHARED, None, ["a", "b", "c"]),
        (7, Isolation.SHARED, 2, ["a", "b"]),
        (7, Isolation.EXCLUSIVE_NODE, None, ["a"]),
        (1, Isolation.SHARED, None, ["c"]),
        (0, Isolation.SHARED, None, []),
    ],
)
def test_starts_what_fits_in_order(
    gpus: int, isolation: Isolation, parallelism: int | None, names: list[str]
) -> None:
    rules = policy(isolation=isolation, parallelism=parallelism)
    assert [name for name, _ in started(decide(rules, WAITING, Capacity(gpus), 0.0))] == names


def test_running_attempts_take_their_gpus() -> None:
    runs = [observed_run(running(), name="a", gpus=3), observed_run(name="b", gpus=2)]
    assert decide(policy(), runs, Capacity(4), 0.0) == ()
    assert started(decide(policy(), runs, Capacity(5), 0.0)) == [("b", 1)]


def test_exclusive_node_waits_for_the_run_before() -> None:
    runs = [observed_run(running(), name="a"), observed_run(name="b")]
    rules = policy(isolation=Isolation.EXCLUSIVE_NODE)
    assert decide(rules, runs, Capacity(8), 0.0) == ()


@pytest.mark.parametrize(("now", "starts"), [(109.9, []), (110.0, [("run", 2)])])
def test_retry_is_a_new_attempt_after_its_wait(now: float, starts: list[tuple[str, int]]) -> None:
    runs = [observed_run(failed(end=100.0))]
    assert started(decide(policy(), runs, Capacity(1), now)) == starts


def test_finished_runs_are_left_alone() -> None:
    runs = [observed_run(succeeded()), observed_run(failed(FailureClass.BAD_SPEC), name="b")]
    assert decide(policy(), runs, Capacity(9), 1e9) == ()


@pytest.mark.parametrize(("budget", "starts"), [(None, [("c", 1)]), (1, [("c", 1)]), (0, [])])
def test_spent_failure_budget_stops_starting(
    budget: int | None, starts: list[tuple[str, int]]
) -> None:
    runs = [observed_run(failed(FailureClass.BAD_SPEC), name="a"), observed_run(name="c")]
    assert started(decide(policy(failure_budget=budget), runs, Capacity(1), 0.0)) == starts


def test_suspended_benchmark_stops_what_runs_and_starts_nothing() -> None:
    runs = [observed_run(running(3), name="a"), observed_run(name="b")]
    decisions = decide(policy(suspended=True), runs, Capacity(9), 0.0)
    assert decisions == (StopAttempt("a", 1, FailureClass.PREEMPTED, "suspended"),)


@pytest.mark.parametrize(("late", "stopped"), [(0.0, False), (0.1, True)])
def test_attempt_is_stopped_when_its_supervisor_overruns_the_deadline(
    late: float, *, stopped: bool
) -> None:
    now = 1000 + SUPERVISOR_GRACE_SECONDS + late
    decisions = decide(policy(), [observed_run(running(since=0.0))], Capacity(1), now)
    assert [type(d) for d in decisions] == ([StopAttempt] if stopped else [])


def pending(*, queued: bool = False, message: str = "") -> ObservedAttempt:
    return ObservedAttempt(1, AttemptState.PENDING, 100.0, message=message, queued=queued)


STARTS_WITHIN = policy(start_timeout_seconds=60)


@pytest.mark.parametrize(
    ("attempt", "rules", "now", "stopped"),
    [
        (pending(), STARTS_WITHIN, 160.0, False),
        (pending(), STARTS_WITHIN, 160.1, True),
        (pending(queued=True), STARTS_WITHIN, 1e6, False),
        (pending(), policy(), 1e6, False),
        (running(since=100.0), STARTS_WITHIN, 200.0, False),
    ],
)
def test_attempt_that_does_not_start_is_given_up_unless_a_queue_holds_it(
    attempt: ObservedAttempt, rules: Policy, now: float, *, stopped: bool
) -> None:
    decisions = decide(rules, [observed_run(attempt)], Capacity(1), now)
    assert [type(d) for d in decisions] == ([StopAttempt] if stopped else [])


def test_attempt_that_did_not_start_says_what_it_waited_for() -> None:
    runs = [observed_run(pending(message="Unschedulable: no GPUs"))]
    (stop,) = decide(STARTS_WITHIN, runs, Capacity(1), 1000.0)
    message = "not started after 60 s: Unschedulable: no GPUs"
    assert stop == StopAttempt("run", 1, FailureClass.ENVIRONMENT, message)


@pytest.mark.parametrize("queued", [False, True])
def test_pending_attempts_take_their_gpus(*, queued: bool) -> None:
    runs = [observed_run(pending(queued=queued), gpus=3), observed_run(name="b", gpus=2)]
    assert decide(policy(), runs, Capacity(4), 110.0) == ()
    assert started(decide(policy(), runs, Capacity(5), 110.0)) == [("b", 1)]


def test_suspended_benchmark_stops_what_is_pending() -> None:
    (stop,) = decide(policy(suspended=True), [observed_run(pending())], Capacity(1), 110.0)
    assert isinstance(stop, StopAttempt)


@pytest.mark.parametrize(
    ("nodes", "names"), [(0, []), (1, ["a"]), (2, ["a", "c"]), (9, ["a", "c"])]
)
def test_exclusive_runs_take_a_node_each(nodes: int, names: list[str]) -> None:
    rules = policy(isolation=Isolation.EXCLUSIVE_NODE)
    found = started(decide(rules, WAITING, Capacity(4, nodes), 0.0))
    assert [name for name, _ in found] == names


def test_nodes_do_not_matter_to_shared_runs() -> None:
    found = started(decide(policy(), WAITING, Capacity(7, nodes=1), 0.0))
    assert [name for name, _ in found] == ["a", "b", "c"]
