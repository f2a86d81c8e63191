"""Histories that random ones seldom hit: each broke a law of the operator once, or would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gpubench.api.enums import AttemptState, Cleanup, FailureClass, Isolation
from tests.unit.controller.laws import status_of
from tests.unit.controller.simulated_api import BENCHMARK, JOB, POD, RUN, Fault, Script
from tests.unit.controller.simulated_cluster import End, gpus_of, is_over, owner_uid
from tests.unit.controller.test_random_faults import OperatorOnACluster

USUAL: dict[str, Any] = {
    "benchmarks": 1,
    "nodes": 1,
    "isolation": Isolation.SHARED,
    "parallelism": None,
    "retry_limit": 1,
    "backoff": 0,
    "failure_budget": None,
    "cleanup": Cleanup.ON_SUCCESS,
}


@pytest.fixture
def history() -> Iterator[OperatorOnACluster]:
    """A cluster on which the laws are checked once more when all has come to its end."""
    made = OperatorOnACluster()
    yield made
    made.teardown()


def begin(history: OperatorOnACluster, **changes: Any) -> None:
    """Let a sweep of two runs, of one and of three GPUs, get as far as its pods."""
    history.begin(**USUAL | changes)
    history.everything_goes_on(Script(), None, 0)
    assert len(history.api.of_kind(POD)) == 2


def work(history: OperatorOnACluster, times: int = 1) -> None:
    for _ in range(times):
        history.operator_works_undisturbed()
        history.laws_hold()


def failures(history: OperatorOnACluster) -> list[FailureClass]:
    attempts = [a for run in history.api.of_kind(RUN) for a in status_of(run).attempts]
    return [attempt.failure.failure_class for attempt in attempts if attempt.failure]


def test_pod_that_hangs_is_deleted_and_tried_again(history: OperatorOnACluster) -> None:
    begin(history)
    history.pod_hangs(0)
    history.clock.now += 4000
    work(history, 3)
    assert failures(history) == [FailureClass.TIMEOUT] * 2
    history.cluster_works()
    assert all("-2" in job["metadata"]["name"][-2:] for job in history.api.of_kind(JOB))


@pytest.mark.parametrize("at", range(1, 12))
@pytest.mark.parametrize("fault", [Fault.DEATH_BEFORE, Fault.DEATH_AFTER, Fault.UNREACHABLE])
def test_operator_dies_while_it_stops_attempts(
    history: OperatorOnACluster, fault: Fault, at: int
) -> None:
    """What is given up may run on for a while, and nothing may be started beside it."""
    begin(history, nodes=2)
    history.clock.now += 4000
    history.operator_works(Script(fault, at))
    history.laws_hold()
    work(history, 3)
    assert set(failures(history)) == {FailureClass.TIMEOUT}


@pytest.mark.parametrize("order", [0, 1])
def test_operator_that_starts_again_knows_first_what_others_use(
    history: OperatorOnACluster, order: int
) -> None:
    begin(history, benchmarks=2, backoff=10)
    for pod in history.api.of_kind(POD):
        history.cluster.end_pod(pod, End.FAILURE)
    work(history, 2)
    assert [gpus_of(job) for job in history.live_jobs()] == [3, 1], "the other one's turn"
    history.clock.now += 20
    history.operator_is_killed()
    history.operator.watches.deliver_all()
    for _ in range(3):
        history.operator_works(Script(at=100 + order))
        history.laws_hold()


def test_benchmark_made_again_at_once_has_runs_of_its_own(history: OperatorOnACluster) -> None:
    begin(history)
    old = {run["metadata"]["uid"] for run in history.api.of_kind(RUN)}
    history.somebody_makes_a_benchmark_again(0)
    work(history)
    (benchmark,) = history.api.of_kind(BENCHMARK)
    assert {owner_uid(run) for run in history.api.of_kind(RUN)} != {benchmark["metadata"]["uid"]}
    for _ in range(3):
        history.cluster_works()
        history.pods_that_were_deleted_are_gone()
        work(history)
    runs = history.api.of_kind(RUN)
    assert {owner_uid(run) for run in runs} == {benchmark["metadata"]["uid"]}
    assert not old & {run["metadata"]["uid"] for run in runs}


def test_result_that_is_told_together_with_its_pods_deletion_counts(
    history: OperatorOnACluster,
) -> None:
    begin(history)
    for pod in history.api.of_kind(POD):
        history.cluster.end_pod(pod, End.SUCCESS)
        history.cluster.delete(pod)
    history.pods_that_were_deleted_are_gone()
    work(history)
    states = [a.state for r in history.api.of_kind(RUN) for a in status_of(r).attempts]
    assert states == [AttemptState.SUCCEEDED] * 2


@pytest.mark.parametrize("kind", [RUN, JOB, POD])
def test_what_was_deleted_while_its_watch_was_broken_is_noticed(
    history: OperatorOnACluster, kind: str
) -> None:
    begin(history)
    for item in history.api.of_kind(kind):
        history.cluster.delete(item)
    history.pods_that_were_deleted_are_gone()
    history.operator.watches.begin(kind)
    history.clock.now += 400
    work(history, 2)
    known = history.operator.cluster.benchmark(history.api.of_kind(BENCHMARK)[0]["metadata"]["uid"])
    told = {uid for found in (RUN, JOB, POD) for uid in known.uids(found)}
    there = {i["metadata"]["uid"] for f in (RUN, JOB, POD) for i in history.api.of_kind(f)}
    assert told <= there


@pytest.mark.parametrize("end", End)
def test_every_end_of_a_pod_ends_its_attempt(history: OperatorOnACluster, end: End) -> None:
    begin(history)
    for pod in history.api.of_kind(POD):
        history.cluster.end_pod(pod, end)
    work(history)
    first = [status_of(run).attempts[0] for run in history.api.of_kind(RUN)]
    expected = AttemptState.SUCCEEDED if end is End.SUCCESS else AttemptState.FAILED
    assert [attempt.state for attempt in first] == [expected] * 2
    assert all(is_over(pod) for pod in history.api.of_kind(POD) if pod["metadata"]["name"])


def test_spec_that_may_not_run_any_more_stops_what_runs(history: OperatorOnACluster) -> None:
    begin(history)
    history.somebody_edits(0, "forbidden")
    work(history)
    assert history.api.of_kind(JOB) == []
    assert history.api.of_kind(BENCHMARK)[0]["status"]["phase"] == "Failed"
