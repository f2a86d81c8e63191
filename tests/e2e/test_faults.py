"""What happens to a sweep when something under it dies: docs/faults.md, "On a cluster".

Pods do nothing but wait and deliver, except where the training itself is what fails
(test_pod_faults.py).
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.benchmarks import BenchmarkOnCluster, instant_spec, new_namespaces
from tests.e2e.cluster import Cluster
from tests.e2e.cluster.commands import wait_until
from tests.e2e.instant_image import INSTANT_IMAGE, ensure_instant_image
from tests.e2e.operators import OperatorProcess, running_operator

KILLS = 20
KUBELET_OUTAGE_SECONDS = float(os.environ.get("GPUBENCH_KUBELET_OUTAGE_SECONDS", "60"))
"""By default a little longer than the control plane waits before it takes a node for lost."""
SETTINGS = {"images": {"imageRecognition": INSTANT_IMAGE}, "simulatedGpus": True}
FOREVER = "sleep=100000"


@pytest.fixture(scope="module")
def operator(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    if cluster.layout is None:
        pytest.skip("brings images to the node, and ends the cluster's parts")
    ensure_instant_image(cluster.layout)
    with running_operator(cluster, tmp_path_factory.mktemp("operator"), SETTINGS) as operator:
        yield operator


@pytest.fixture(scope="module")
def make_namespace(operator: OperatorProcess) -> Iterator[Callable[[], str]]:
    with new_namespaces(operator.cluster) as make:
        yield make


@pytest.fixture(scope="module")
def shared_namespace(make_namespace: Callable[[], str]) -> str:
    return make_namespace()


@pytest.fixture
def benchmark_named(
    cluster: Cluster, shared_namespace: str
) -> Iterator[Callable[[str], BenchmarkOnCluster]]:
    """Benchmarks that go at the end of the test, and free what they use."""
    made = []

    def name_one(name: str) -> BenchmarkOnCluster:
        made.append(BenchmarkOnCluster(cluster, shared_namespace, name))
        return made[-1]

    yield name_one
    for benchmark in made:
        benchmark.delete()


Name = Callable[[str], BenchmarkOnCluster]


def attempts(benchmark: BenchmarkOnCluster) -> list[list[str]]:
    """How each attempt of each run ended."""
    return [
        [
            attempt.failure.failure_class if attempt.failure else attempt.state
            for attempt in run.attempts
        ]
        for run in benchmark.runs().values()
    ]


def wait_until_running(benchmark: BenchmarkOnCluster, count: int = 1) -> None:
    benchmark.wait_for(f"{count} running", lambda status: status.progress.running >= count)


def delete(benchmark: BenchmarkOnCluster, kind: str) -> str:
    """Delete the one child of a kind; return its name."""
    (child,) = benchmark.children(kind)
    name: str = child["metadata"]["name"]
    where = f"--namespace={benchmark.namespace}"
    benchmark.cluster.kubectl("delete", kind, name, where, "--wait=false")
    return name


def created(cluster: Cluster, namespace: str, resource: str) -> int:
    """How many objects of a kind were made in a namespace, by the API server's own account.

    Who is killed while it waits for the answer leaves "504": what it asked for was made, or it was
    asked for again under the same name.
    """
    names: dict[int, list[str]] = {201: [], 504: []}
    for line in cluster.audit_log.read_text(encoding="utf-8").splitlines():
        if f'"{namespace}"' not in line or '"verb":"create"' not in line:
            continue
        event = json.loads(line)
        reference = event["objectRef"]
        if reference["resource"] == resource and "subresource" not in reference:
            names.get(event["responseStatus"]["code"], []).append(reference["name"])
    return len(names[201]) + len(set(names[504]) - set(names[201]))


def test_an_operator_killed_twenty_times_loses_nothing_and_repeats_nothing(
    operator: OperatorProcess, make_namespace: Callable[[], str]
) -> None:
    seed = time.time_ns()
    print(f"seed of the moments: {seed}")
    moments = random.Random(seed)
    benchmark = BenchmarkOnCluster(operator.cluster, make_namespace(), "killed")
    benchmark.apply(instant_spec("sleep=1", seeds=40))
    for _ in range(KILLS):
        time.sleep(moments.uniform(0.2, 4))
        operator.kill()
        operator.start()
    operator.wait_until_leading()
    status = benchmark.wait_for_phase("Completed", 300)
    assert (status.progress.succeeded, status.progress.total) == (40, 40)
    assert attempts(benchmark) == [["Succeeded"]] * 40
    benchmark.wait_for("end of all jobs", lambda _: not benchmark.children("pytorchjob"))
    for kind in ("gpubenchmarkruns", "pytorchjobs", "pods"):
        assert created(benchmark.cluster, benchmark.namespace, kind) == 40


def test_a_sweep_outlives_a_crash_of_the_api_server(
    own_cluster: Cluster, benchmark_named: Name
) -> None:
    benchmark = benchmark_named("without-server")
    benchmark.apply(instant_spec("sleep=3", seeds=8))
    wait_until_running(benchmark)
    own_cluster.restart_api_server(kill=True)
    benchmark.wait_for_phase("Completed")
    assert attempts(benchmark) == [["Succeeded"]] * 8


def test_a_deleted_pod_is_another_attempt(benchmark_named: Name) -> None:
    benchmark = benchmark_named("without-pod")
    benchmark.apply(instant_spec(f"{FOREVER};ok"))
    wait_until_running(benchmark)
    delete(benchmark, "pod")
    benchmark.wait_for_phase("Completed")
    assert attempts(benchmark) == [["Preempted", "Succeeded"]]


def test_a_deleted_job_is_another_attempt(benchmark_named: Name) -> None:
    benchmark = benchmark_named("without-job")
    benchmark.apply(instant_spec(f"{FOREVER};ok"))
    wait_until_running(benchmark)
    job = delete(benchmark, "pytorchjob")
    benchmark.wait_for_phase("Completed")
    assert attempts(benchmark) == [["Preempted", "Succeeded"]]
    (run,) = benchmark.runs().values()
    failure = run.attempts[0].failure
    assert failure is not None
    assert failure.message == f"its job {job} was deleted"


def test_a_deleted_run_is_made_again(benchmark_named: Name) -> None:
    benchmark = benchmark_named("without-run")
    benchmark.apply(instant_spec("sleep=5"))
    wait_until_running(benchmark)
    (pod,) = benchmark.children("pod")
    name = delete(benchmark, "gpubenchmarkrun")
    benchmark.wait_for_phase("Completed")
    assert list(benchmark.runs()) == [name]
    assert attempts(benchmark) == [["Succeeded"]]
    pods = benchmark.children("pod")
    assert pod["metadata"]["uid"] not in {each["metadata"]["uid"] for each in pods}


def test_a_deleted_result_is_measured_again(benchmark_named: Name) -> None:
    benchmark = benchmark_named("without-result")
    benchmark.apply(instant_spec(seeds=2))
    first = benchmark.wait_for_phase("Completed")
    name = sorted(benchmark.runs())[0]
    where = f"--namespace={benchmark.namespace}"
    benchmark.cluster.kubectl("delete", "gpubenchmarkrun", name, where)
    benchmark.wait_for(
        "a new end",
        lambda status: (
            status.phase == "Completed" and status.completion_time != first.completion_time
        ),
    )
    assert attempts(benchmark) == [["Succeeded"]] * 2


def test_a_status_changed_by_hand_is_put_right(benchmark_named: Name) -> None:
    benchmark = benchmark_named("by-hand")
    benchmark.apply(instant_spec())
    told = benchmark.wait_for_phase("Completed")
    (name,) = benchmark.runs()
    lies = [(f"gpubrun/{name}", {"phase": "Failed", "attempts": []})]
    lies.append((f"gpub/{benchmark.name}", {"phase": "Running", "runs": "7/9"}))
    for what, status in lies:
        patch = f"--patch={json.dumps({'status': status})}"
        where = f"--namespace={benchmark.namespace}"
        benchmark.cluster.kubectl(
            "patch", what, where, "--subresource=status", "--type=merge", patch
        )
    wait_until("the truth", lambda: benchmark.status().runs == told.runs, timeout=90, interval=1)
    assert benchmark.wait_for_phase("Completed").progress == told.progress


def test_a_benchmark_without_its_finalizer_gets_it_back_and_leaves_no_job(
    cluster: Cluster, shared_namespace: str
) -> None:
    benchmark = BenchmarkOnCluster(cluster, shared_namespace, "bare")
    benchmark.apply(instant_spec(FOREVER))
    wait_until_running(benchmark)
    benchmark.patch({"metadata": {"finalizers": None}})
    wait_until(
        "the finalizer",
        lambda: bool(benchmark.read()["metadata"].get("finalizers")),
        timeout=30,
    )
    uid = benchmark.read()["metadata"]["uid"]
    benchmark.delete()
    selector = f"--selector=gpubench.io/benchmark-uid={uid}"
    where = f"--namespace={shared_namespace}"
    left = ("get", "pytorchjob", where, selector, "-o", "name")
    wait_until("end of its jobs", lambda: not cluster.kubectl(*left).strip(), timeout=30)


def test_runs_go_on_while_the_kubelet_is_away(own_cluster: Cluster, benchmark_named: Name) -> None:
    benchmark = benchmark_named("without-kubelet")
    benchmark.apply(instant_spec(f"sleep={KUBELET_OUTAGE_SECONDS / 2:.0f}", seeds=6))
    wait_until_running(benchmark, 4)
    own_cluster.stop_kubelet()
    try:
        time.sleep(KUBELET_OUTAGE_SECONDS)
        message = benchmark.wait_for_condition("Degraded", "NotEnoughGPUs")
        assert "ready" in message
    finally:
        own_cluster.start_kubelet()
    benchmark.wait_for_phase("Completed")
    assert attempts(benchmark) == [["Succeeded"]] * 6


def test_a_pod_that_never_starts_is_given_up(
    operator: OperatorProcess, benchmark_named: Name
) -> None:
    operator.restart({**SETTINGS, "startTimeoutSeconds": 10, "allowedImages": ["localhost/*"]})
    benchmark = benchmark_named("without-image")
    benchmark.apply(instant_spec(image="localhost/gpubench-nowhere:dev"))
    status = benchmark.wait_for_phase("Completed")
    operator.restart(SETTINGS)
    assert status.progress.failed == 1
    assert attempts(benchmark) == [["Environment", "Environment"]]
    (run,) = benchmark.runs().values()
    failed = next(c for c in run.conditions if c.type == "Failed")
    assert "not started after 10 s" in failed.message
    assert "gpubench-nowhere" in failed.message
    assert status.start_time is None


@pytest.mark.parametrize(
    ("action", "ends", "says"),
    [
        ("cut;ok", ["ResultMissing", "Succeeded"], "no whole result"),
        ("forged;ok", ["ResultMissing", "Succeeded"], "is that of run another-"),
        ("exit=0;ok", ["ResultMissing", "Succeeded"], "handed over no result"),
        ("exit=1;exit=1;exit=1", ["ResultMissing"] * 3, "exit code 1"),
    ],
)
def test_only_a_whole_result_of_its_own_counts(
    benchmark_named: Name, action: str, ends: list[str], says: str
) -> None:
    benchmark = benchmark_named(action.partition(";")[0].replace("=", "-"))
    benchmark.apply(instant_spec(action))
    benchmark.wait_for_phase("Completed")
    assert attempts(benchmark) == [ends]
    (run,) = benchmark.runs().values()
    failure = run.attempts[0].failure
    assert failure is not None
    assert says in failure.message


def test_a_deaf_pod_is_ended_at_its_deadline(benchmark_named: Name) -> None:
    benchmark = benchmark_named("deaf")
    benchmark.apply(instant_spec("hang;ok", timeoutSeconds=1))
    benchmark.wait_for_phase("Completed")
    assert attempts(benchmark) == [["Timeout", "Succeeded"]]
    # Deaf as it is, it would hold up its namespace's end for the whole grace period.
    where = (f"--namespace={benchmark.namespace}", "--selector=gpubench.io/attempt=1")
    benchmark.cluster.kubectl("delete", "pod", *where, "--force", "--grace-period=0")
