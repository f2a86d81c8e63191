"""Benchmarks that are odd, changed, stopped, deleted and made again by their users."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.benchmarks import BenchmarkOnCluster, instant_spec, new_namespaces
from tests.e2e.cluster import Cluster, ClusterError
from tests.e2e.cluster.commands import wait_until
from tests.e2e.instant_image import INSTANT_IMAGE, ensure_instant_image
from tests.e2e.operators import OperatorProcess, running_operator

SETTINGS = {"images": {"imageRecognition": INSTANT_IMAGE}, "simulatedGpus": True}


@pytest.fixture(scope="module")
def operator(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    if cluster.layout is None:
        pytest.skip("brings images to the node")
    ensure_instant_image(cluster.layout)
    with running_operator(cluster, tmp_path_factory.mktemp("operator"), SETTINGS) as operator:
        yield operator


@pytest.fixture(scope="module")
def namespaces(operator: OperatorProcess) -> Iterator[tuple[str, str]]:
    with new_namespaces(operator.cluster) as make_namespace:
        yield make_namespace(), make_namespace()


@pytest.fixture
def benchmark_named(
    cluster: Cluster, namespaces: tuple[str, str]
) -> Callable[[str], BenchmarkOnCluster]:
    return lambda name: BenchmarkOnCluster(cluster, namespaces[0], name)


Name = Callable[[str], BenchmarkOnCluster]


def jobs_left(cluster: Cluster, namespace: str, uid: str) -> str:
    where = (f"--namespace={namespace}", f"--selector=gpubench.io/benchmark-uid={uid}")
    return cluster.kubectl("get", "pytorchjob", *where, "-o", "name").strip()


def test_a_name_as_long_as_kubernetes_takes_it(benchmark_named: Name) -> None:
    name = ".".join(["a" * 62] * 4) + "xy"
    assert len(name) == 253
    benchmark = benchmark_named(name)
    benchmark.apply(instant_spec(seeds=2))
    status = benchmark.wait_for_phase("Completed")
    assert status.progress.succeeded == 2
    assert "Completed" in {event["reason"] for event in benchmark.events()}
    with pytest.raises(ClusterError, match="must be no more than 253"):
        benchmark_named(name + "z").apply(instant_spec())


def test_annotations_in_any_script_and_labels_as_kubernetes_takes_them(
    benchmark_named: Name,
) -> None:
    benchmark = benchmark_named("scripts")
    annotations = {"example.org/purpose": "Größe, 测量, ベンチ, 🚀\nsecond line"}
    benchmark.apply(instant_spec(), annotations=annotations, labels={"team": "x" * 63})
    benchmark.wait_for_phase("Completed")
    kept = benchmark.read()["metadata"]
    assert kept["annotations"]["example.org/purpose"] == annotations["example.org/purpose"]
    with pytest.raises(ClusterError, match=r"metadata.labels: Invalid value: .*größe"):
        benchmark_named("labels").apply(instant_spec(), labels={"team": "größe"})


def test_a_run_that_is_deleted_is_made_and_run_anew(
    cluster: Cluster, benchmark_named: Name
) -> None:
    benchmark = benchmark_named("again")
    benchmark.apply(instant_spec(seeds=2))
    benchmark.wait_for_phase("Completed")
    doomed, kept = sorted(benchmark.runs())
    read_uid = ("get", f"--namespace={benchmark.namespace}", "--output=jsonpath={.metadata.uid}")
    uids = {name: cluster.kubectl(*read_uid, f"gpubrun/{name}") for name in (doomed, kept)}

    cluster.kubectl("delete", f"--namespace={benchmark.namespace}", f"gpubrun/{doomed}")

    def is_made_and_done() -> bool:
        phases = {name: run.phase for name, run in benchmark.runs().items()}
        return phases == dict.fromkeys((doomed, kept), "Succeeded")

    wait_until("the end of the run that is made anew", is_made_and_done, timeout=90)
    status = benchmark.wait_for_phase("Completed")
    assert (status.progress.total, status.progress.succeeded) == (2, 2)
    assert cluster.kubectl(*read_uid, f"gpubrun/{kept}") == uids[kept]
    assert cluster.kubectl(*read_uid, f"gpubrun/{doomed}") != uids[doomed]


def test_two_of_one_name_in_two_namespaces_do_not_mix(
    cluster: Cluster, namespaces: tuple[str, str]
) -> None:
    first, second = (BenchmarkOnCluster(cluster, each, "same") for each in namespaces)
    first.apply(instant_spec(seeds=2))
    second.apply(instant_spec("exit=1", seeds=2, retryLimit=0))
    assert first.wait_for_phase("Completed").progress.succeeded == 2
    assert second.wait_for_phase("Completed").progress.failed == 2
    second.delete()
    assert first.status().progress.succeeded == 2
    assert len(first.runs()) == 2


def test_one_deleted_and_made_again_at_once_starts_anew(benchmark_named: Name) -> None:
    benchmark = benchmark_named("phoenix")
    benchmark.apply(instant_spec("sleep=1", seeds=3))
    benchmark.wait_for("a result", lambda status: status.progress.succeeded > 0)
    uid = benchmark.read()["metadata"]["uid"]
    benchmark.delete()
    benchmark.apply(instant_spec("sleep=1", seeds=3))
    again = benchmark.read()["metadata"]["uid"]
    assert again != uid
    status = benchmark.wait_for_phase("Completed")
    assert status.progress.succeeded == 3
    assert status.observed_generation == 1
    runs = benchmark.runs()
    assert len(runs) == 3
    assert all(run.attempt == 1 for run in runs.values())
    assert jobs_left(benchmark.cluster, benchmark.namespace, uid) == ""


def test_a_deleted_benchmark_leaves_no_job_and_no_pod(benchmark_named: Name) -> None:
    benchmark = benchmark_named("leaves")
    benchmark.apply(instant_spec("sleep=1000", seeds=3))
    benchmark.wait_for("three running", lambda status: status.progress.running == 3)
    uid = benchmark.read()["metadata"]["uid"]
    benchmark.delete()
    where = (f"--namespace={benchmark.namespace}", f"--selector=gpubench.io/benchmark-uid={uid}")
    left = ("get", "pytorchjob,gpubenchmarkrun,pod", *where, "-o", "name")
    wait_until("nothing", lambda: not benchmark.cluster.kubectl(*left).strip(), timeout=60)


def test_suspending_stops_what_runs_and_keeps_what_is_done(benchmark_named: Name) -> None:
    benchmark = benchmark_named("paused")
    benchmark.apply(instant_spec("sleep=1", seeds=2))
    benchmark.wait_for_phase("Completed")
    done = {name: run.result for name, run in benchmark.runs().items()}
    benchmark.patch({"spec": {"sweep": {"matrix": {"seed": [0, 1, 2, 3, 4]}}, "suspend": True}})
    benchmark.wait_for_phase("Suspended")
    time.sleep(3)
    assert benchmark.status().progress.running == 0
    assert jobs_left(benchmark.cluster, benchmark.namespace, _uid(benchmark)) == ""
    benchmark.patch({"spec": {"suspend": False}})
    assert benchmark.wait_for_phase("Completed").progress.succeeded == 5
    runs = benchmark.runs()
    assert {name: runs[name].result for name in done} == done
    assert all(run.attempt == 1 for run in runs.values())


def test_suspending_in_the_midst_costs_an_attempt_and_nothing_else(benchmark_named: Name) -> None:
    benchmark = benchmark_named("interrupted")
    benchmark.apply(instant_spec("sleep=1000;ok"))
    benchmark.wait_for("a running run", lambda status: status.progress.running == 1)
    benchmark.patch({"spec": {"suspend": True}})
    status = benchmark.wait_for_phase("Suspended")
    assert (status.progress.running, status.progress.pending) == (0, 1)
    uid = _uid(benchmark)
    wait_until(
        "end of its jobs",
        lambda: not jobs_left(benchmark.cluster, benchmark.namespace, uid),
        timeout=30,
    )
    benchmark.patch({"spec": {"suspend": False}})
    benchmark.wait_for_phase("Completed")
    (run,) = benchmark.runs().values()
    first = run.attempts[0].failure
    assert first is not None
    assert (first.failure_class, first.message) == ("Preempted", "suspended")
    assert run.phase == "Succeeded"


def test_more_values_run_only_what_is_new(benchmark_named: Name) -> None:
    benchmark = benchmark_named("grows")
    benchmark.apply(instant_spec(seeds=2))
    benchmark.wait_for_phase("Completed")
    before = benchmark.runs()
    benchmark.patch(
        {"spec": {"sweep": {"matrix": {"seed": [0, 1, 2]}, "repetitions": 2}}},
    )
    status = benchmark.wait_for(
        "six results", lambda status: (status.phase, status.runs) == ("Completed", "6/6")
    )
    assert status.progress.succeeded == 6
    after = benchmark.runs()
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(
    ("patch", "where"),
    [
        ({"workload": {"imageRecognition": {"batchSize": 8}}}, "spec.workload"),
        ({"gpus": 2}, "spec.gpus"),
        ({"execution": {"image": "localhost/other:1"}}, "spec.execution.image"),
        ({"execution": {"isolation": "ExclusiveNode"}}, "spec.execution.isolation"),
    ],
)
def test_what_would_make_results_incomparable_is_refused(
    benchmark_named: Name, patch: dict[str, object], where: str
) -> None:
    benchmark = benchmark_named("started")
    benchmark.apply(instant_spec())
    benchmark.wait_for_phase("Completed")
    with pytest.raises(ClusterError, match=f"{where} cannot change once runs have started"):
        benchmark.patch({"spec": patch})


def test_a_failed_run_is_tried_again_when_it_is_deleted(benchmark_named: Name) -> None:
    benchmark = benchmark_named("budget")
    benchmark.apply(instant_spec("exit=1", seeds=3, retryLimit=0, failureBudget=0, parallelism=1))
    status = benchmark.wait_for_phase("Failed")
    assert (status.progress.failed, status.progress.pending) == (1, 2)
    message = next(c.message for c in status.conditions if c.type == "Failed")
    assert "raise it, or delete failed runs" in message
    benchmark.patch({"spec": {"execution": {"failureBudget": 3}}})
    assert benchmark.wait_for_phase("Completed").progress.failed == 3


def _uid(benchmark: BenchmarkOnCluster) -> str:
    uid: str = benchmark.read()["metadata"]["uid"]
    return uid
