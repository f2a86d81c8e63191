"""The cache holds the newest that was told, in whatever order it was told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.api.enums import AttemptState
from gpubench.controller.cache import BenchmarkCache, ClusterCache
from gpubench.controller.capacity import Usage
from tests.unit.backends.objects import CREATED, RUNS_NOW, ran
from tests.unit.controller.objects import RUN, body, cache_of, own_job, own_pod, run, versioned
from tests.unit.controller.simulated_cluster import node


def job_messages(cache: BenchmarkCache) -> list[str]:
    return [job.phase for job in cache.jobs[RUN.name].values()]


def test_older_version_never_replaces_a_newer_one() -> None:
    cache = cache_of(own_job({"Succeeded": "True"}, version=9))
    assert not cache.put(own_job(version=8))
    assert not cache.put(own_job(version=9))
    assert job_messages(cache) == ["Succeeded"]
    assert not cache.wake.is_set()
    assert cache.put(own_job({"Failed": "True"}, version=10))
    assert job_messages(cache) == ["Failed"]
    assert cache.wake.is_set()
    assert cache.changed == {RUN.name}


@given(order=st.permutations(range(5)))
def test_any_order_ends_with_the_newest(order: list[int]) -> None:
    phases = [{}, {"Running": "True"}, {}, {"Failed": "True"}, {"Succeeded": "True"}]
    cache = cache_of(*(own_job(phases[i], version=i + 10) for i in order))
    assert job_messages(cache) == ["Succeeded"]


@pytest.mark.parametrize("kind", ["run", "job", "pod"])
def test_what_was_deleted_does_not_come_back(kind: str) -> None:
    """A list that was asked for before may be read after."""
    items: dict[str, Any] = {"run": run(), "job": own_job(), "pod": own_pod(RUNS_NOW)}
    item = items[kind]
    cache = cache_of(item)
    cache.remove(item)
    assert not cache.put(item)
    known = (*cache.runs.values(), *cache.jobs[RUN.name].values(), *cache.pods[RUN.name].values())
    assert known == ()


def test_same_name_made_again_is_another_object() -> None:
    cache = cache_of(run(version=5), own_job(version=6))
    cache.put(run(version=8, uid="uid-new-run"))
    cache.put(own_job(version=9, uid="uid-new"))
    cache.remove(run(version=7))
    cache.remove(own_job(version=7))
    assert cache.runs[RUN.name].uid == "uid-new-run"
    assert [job.uid for job in cache.jobs[RUN.name].values()] == ["uid-new"]


def test_status_that_we_wrote_is_not_undone_by_an_older_event() -> None:
    cache = cache_of(run(version=5))
    written = cache.runs[RUN.name].status.model_copy(update={"attempt": 3})
    cache.set_status(RUN.name, written, "9")
    assert not cache.put(run({"attempt": 1}, version=7))
    assert cache.runs[RUN.name].status.attempt == 3
    assert cache.put(run({"attempt": 4}, version=10))
    assert cache.runs[RUN.name].status.attempt == 4


@pytest.mark.parametrize("status", [{"phase": "Nonsense"}, {"attempts": "none"}, {"result": {}}])
def test_status_that_a_hand_broke_counts_as_none(status: dict[str, Any]) -> None:
    cache = cache_of(run(status))
    assert cache.runs[RUN.name].status.attempts == []


def test_pod_of_a_job_is_one_that_it_owns() -> None:
    """Labels can be forged, and a job may be made again while its first pod still ends."""
    cache = cache_of(own_job(), own_pod(RUNS_NOW, uid="ours"))
    other = own_pod(ran(), uid="other", created_at=CREATED + 50)
    cache.put(versioned(other, 9, ownerReferences=[{"kind": "PyTorchJob", "uid": "another"}]))
    cache.put(
        versioned(own_pod(ran(), uid="bare", created_at=CREATED + 60), 10, ownerReferences=[])
    )
    (job,) = cache.jobs[RUN.name].values()
    found = cache.pod_of(job)
    assert found is not None
    assert found.uid == "ours"


def test_newest_pod_that_stays_is_the_jobs() -> None:
    leaving = versioned(own_pod(RUNS_NOW, uid="a"), 4, deletionTimestamp="2026-01-01T00:00:00Z")
    replacement = own_pod(uid="b", phase="Pending", created_at=CREATED + 5, version=5)
    cache = cache_of(own_job(), leaving, replacement)
    (job,) = cache.jobs[RUN.name].values()
    assert [p.uid for p in [cache.pod_of(job)] if p] == ["b"]


def test_result_of_a_pod_that_is_deleted_at_once_is_kept() -> None:
    cache = cache_of(run(), own_job(), own_pod(RUNS_NOW))
    cache.remove(own_pod(ran(0, "told"), phase="Succeeded", version=9))
    (job,) = cache.jobs[RUN.name].values()
    found = cache.pod_of(job)
    assert found is not None
    assert (found.state, found.termination_message) == (AttemptState.SUCCEEDED, "told")


@pytest.mark.parametrize("phase", ["Failed", "Running"])
def test_other_pods_go_when_they_are_deleted(phase: str) -> None:
    cache = cache_of(run(), own_job(), own_pod(RUNS_NOW))
    cache.remove(own_pod(RUNS_NOW if phase == "Running" else ran(1), phase=phase, version=9))
    assert cache.pods[RUN.name] == {}


def test_new_spec_wakes_and_own_status_does_not() -> None:
    cache = cache_of(own=body(5, generation=1))
    cache.set_body(body(6, generation=1))
    assert not cache.wake.is_set()
    cache.set_body(body(4, generation=2))
    assert not cache.wake.is_set()
    cache.set_body(body(7, generation=2))
    assert cache.wake.is_set()


def test_spec_that_is_first_seen_in_an_answer_wakes_too() -> None:
    """Its watch event comes after and is not newer."""
    cache = cache_of(own=body(5, generation=1))
    cache.set_own_status(body(9, generation=2))
    assert cache.wake.is_set()
    assert cache.body is not None
    assert cache.body["metadata"]["generation"] == 2


def test_answer_for_another_benchmark_of_that_name_is_not_ours() -> None:
    cache = cache_of(own=body(5))
    cache.set_own_status(body(9, uid="uid-another"))
    assert cache.body is not None
    assert cache.body["metadata"]["uid"] == "uid-benchmark"


def test_event_reaches_the_benchmark_that_its_label_names() -> None:
    cluster = ClusterCache()
    cluster.benchmark("uid-benchmark").set_body(body())
    cluster.benchmark("uid-other").set_body(body(uid="uid-other"))
    cluster.take_event("ADDED", run())
    assert list(cluster.benchmark("uid-benchmark").runs) == [RUN.name]
    assert cluster.benchmark("uid-other").runs == {}
    cluster.take_event("DELETED", run(version=2))
    assert cluster.benchmark("uid-benchmark").runs == {}


def test_label_forged_in_another_namespace_is_not_believed() -> None:
    cluster = ClusterCache()
    cluster.benchmark("uid-benchmark").set_body(body())
    cluster.take_event("ADDED", versioned(own_pod(ran()), 9, namespace="elsewhere"))
    cluster.take_event("ADDED", versioned(own_job(), 9, namespace="elsewhere"))
    cache = cluster.benchmark("uid-benchmark")
    assert not cache.jobs.get(RUN.name)
    assert not cache.pods.get(RUN.name)


def test_children_of_a_benchmark_that_is_gone_are_not_kept() -> None:
    cluster = ClusterCache()
    cluster.take_event("ADDED", run())
    assert list(cluster.benchmarks()) == []


def test_other_benchmarks_are_woken_when_one_goes() -> None:
    cluster = ClusterCache()
    for uid in ("a", "b"):
        cluster.benchmark(uid).set_body(body(uid=uid))
        cluster.benchmark(uid).wake.clear()
    cluster.usage["a"] = Usage("nvidia.com/gpu", 4, 1, exclusive=False)
    assert not cluster.knows_usage_beside("a")
    assert cluster.knows_usage_beside("b")
    cluster.forget("a")
    assert cluster.usage == {}
    assert cluster.benchmark("b").wake.is_set()


def test_heartbeat_of_a_node_wakes_nobody() -> None:
    cluster = ClusterCache()
    cluster.take_node("ADDED", node("n"))
    cache = cluster.benchmark("uid-benchmark")
    cluster.take_node("MODIFIED", node("n"))
    assert not cache.wake.is_set()
    cluster.take_node("DELETED", node("n"))
    assert cache.wake.is_set()
    assert cluster.nodes == {}
