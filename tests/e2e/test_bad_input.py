"""Bad input that only the controller can know: told within 30 s, and over once it is mended.

All cases are applied at once and judged one by one, for each takes its time without work.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.e2e.benchmarks import BenchmarkOnCluster, Object, instant_spec, new_namespaces
from tests.e2e.cluster import Cluster, ClusterError
from tests.e2e.cluster.commands import wait_until
from tests.e2e.cluster.layout import GPUS
from tests.e2e.instant_image import (
    INSTANT_IMAGE,
    ensure_instant_image,
    forget_image,
    load_instant_image_as,
)
from tests.e2e.operators import OperatorProcess, running_operator
from tests.e2e.volumes import make_claim

TOLD_WITHIN_SECONDS = 30
MISSING_IMAGE = f"localhost/gpubench-not-there:{secrets.token_hex(4)}"
ENOUGH_GPUS = 7
"""One for each case that holds a GPU while it waits (two hold processors), and fewer than a run may
ask for."""
SETTINGS = {
    "images": {"imageRecognition": INSTANT_IMAGE},
    "allowedImages": [MISSING_IMAGE],
    "simulatedGpus": True,
}

Mend = Callable[[BenchmarkOnCluster], None]


@dataclass(frozen=True)
class BadInput:
    """A benchmark that cannot run as things are."""

    reason: str
    says: str
    """Part of the message that says what to do."""
    mend: Mend
    execution: Mapping[str, Any] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    condition: str = "Degraded"
    around: tuple[Object, ...] = ()
    """Objects of the namespace."""


def edit(**execution: Any) -> Mend:
    return lambda benchmark: benchmark.patch({"spec": {"execution": execution}})


def delete(kind_and_name: str) -> Mend:
    def mend(benchmark: BenchmarkOnCluster) -> None:
        benchmark.cluster.kubectl("delete", kind_and_name, f"--namespace={benchmark.namespace}")

    return mend


def make_the_claim(benchmark: BenchmarkOnCluster) -> None:
    make_claim(benchmark.cluster, benchmark.namespace, "later")


def load_the_image(benchmark: BenchmarkOnCluster) -> None:
    assert benchmark.cluster.layout is not None
    load_instant_image_as(MISSING_IMAGE, benchmark.cluster.layout)


def make_the_baseline(benchmark: BenchmarkOnCluster) -> None:
    BenchmarkOnCluster(benchmark.cluster, benchmark.namespace, "older").apply(instant_spec())


def quota(**hard: str) -> Object:
    names = {"requests_gpus": "requests.nvidia.com/gpu", "jobs": "count/pytorchjobs.kubeflow.org"}
    limits = {names.get(name, name): value for name, value in hard.items()}
    return {"kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": limits}}


LIMITS = {
    "kind": "LimitRange",
    "metadata": {"name": "small"},
    "spec": {"limits": [{"type": "Container", "max": {"memory": "16Mi"}}]},
}

CASES = {
    "claim": BadInput(
        "VolumeClaimMissing",
        "create the claim",
        make_the_claim,
        spec={"results": {"volumeClaim": "later"}},
    ),
    "claim-by-edit": BadInput(
        "VolumeClaimMissing",
        "results.volumeClaim",
        lambda benchmark: benchmark.patch({"spec": {"results": {"volumeClaim": None}}}),
        spec={"results": {"volumeClaim": "never"}},
    ),
    "image": BadInput(
        "ImagePullFailed",
        "execution.image",
        load_the_image,
        execution={"image": MISSING_IMAGE, "device": "CPU"},
    ),
    "image-not-allowed": BadInput(
        "ImageNotAllowed",
        "allowedImages",
        edit(image=INSTANT_IMAGE),
        execution={"image": "docker.io/someone/miner:latest"},
        condition="Accepted",
    ),
    "priority": BadInput(
        "PriorityClassNotAllowed",
        "allowedPriorityClasses",
        edit(priorityClassName=None),
        execution={"priorityClassName": "system-node-critical"},
        condition="Accepted",
    ),
    "gpus": BadInput(
        "NotEnoughGPUs",
        "offers 7 nvidia.com/gpu",
        lambda benchmark: benchmark.patch({"spec": {"gpus": 1}}),
        spec={"gpus": 8},
    ),
    "placement": BadInput(
        "NotEnoughGPUs",
        "execution.placement",
        edit(placement=None),
        execution={"placement": {"nodeSelector": {"accelerator": "none-such"}}},
    ),
    "queue": BadInput(
        "QueueMissing", "Kueue", edit(queueName=None), execution={"queueName": "nobodys"}
    ),
    "job-quota": BadInput(
        "QuotaExceeded", "small", delete("quota/small"), around=(quota(jobs="0"),)
    ),
    "pod-quota": BadInput(
        "QuotaExceeded", "small", delete("quota/small"), around=(quota(pods="0"),)
    ),
    "gpu-quota": BadInput(
        "QuotaExceeded",
        "requests.nvidia.com/gpu",
        delete("quota/small"),
        around=(quota(requests_gpus="0"),),
    ),
    "limits": BadInput(
        "LimitRangeViolated",
        "16Mi",
        delete("limitrange/small"),
        execution={"device": "CPU"},
        around=(LIMITS,),
    ),
    "backend": BadInput(
        "BackendMissing",
        "execution.backend",
        edit(backend="PyTorchJob"),
        execution={"backend": "TrainJob"},
    ),
    "baseline": BadInput(
        "BaselineMissing",
        "results.baseline",
        make_the_baseline,
        # While it runs, for a benchmark that is over is not impeded any more.
        spec={"results": {"baseline": "older"}, "suspend": True},
    ),
}


def wait_until_counted(benchmark: BenchmarkOnCluster) -> None:
    """Until then admission refuses because it knows nothing (QuotaUnknown), and says no number.

    Of custom resources Kubernetes learns every half minute.
    """
    read = ("get", "resourcequotas", f"--namespace={benchmark.namespace}", "--output=json")

    def is_counted() -> bool:
        quotas = json.loads(benchmark.cluster.kubectl(*read))["items"]
        return all(
            quota["spec"]["hard"].keys() == quota.get("status", {}).get("used", {}).keys()
            for quota in quotas
        )

    wait_until("the quota's count", is_counted, timeout=90)


@pytest.fixture(scope="module")
def operator(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    if cluster.layout is None:
        pytest.skip("brings images to the node")
    ensure_instant_image(cluster.layout)
    cluster.offer_gpus(ENOUGH_GPUS)
    with running_operator(cluster, tmp_path_factory.mktemp("operator"), SETTINGS) as operator:
        yield operator
    cluster.offer_gpus(GPUS)
    forget_image(MISSING_IMAGE, cluster.layout)


@pytest.fixture(scope="module")
def make_namespace(operator: OperatorProcess) -> Iterator[Callable[[], str]]:
    with new_namespaces(operator.cluster) as make:
        yield make


@pytest.fixture(scope="module")
def applied(cluster: Cluster, make_namespace: Callable[[], str]) -> dict[str, BenchmarkOnCluster]:
    """All cases, each in a namespace of its own."""
    benchmarks = {}
    for name, case in CASES.items():
        benchmark = BenchmarkOnCluster(cluster, make_namespace(), name)
        for thing in case.around:
            manifest = json.dumps({"apiVersion": "v1", **thing})
            cluster.apply(manifest, f"--namespace={benchmark.namespace}")
            if thing["kind"] == "ResourceQuota":
                wait_until_counted(benchmark)
        benchmark.apply(instant_spec(**case.execution) | case.spec)
        benchmarks[name] = benchmark
    return benchmarks


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_told_in_time_and_ends_when_it_is_mended(
    applied: dict[str, BenchmarkOnCluster], name: str
) -> None:
    case, benchmark = CASES[name], applied[name]
    uid = benchmark.read()["metadata"]["uid"]
    message = benchmark.wait_for_condition(case.condition, case.reason, TOLD_WITHIN_SECONDS)
    assert case.says in message
    assert benchmark.seconds_until(case.condition) <= TOLD_WITHIN_SECONDS
    told = [e for e in benchmark.events() if e["reason"] == case.reason]
    assert [event["type"] for event in told] == ["Warning"]
    assert case.says in told[0]["message"]

    case.mend(benchmark)
    over = "NothingInTheWay" if case.condition == "Degraded" else "SpecAccepted"
    benchmark.wait_for_condition(case.condition, over)
    benchmark.patch({"spec": {"suspend": False}})
    benchmark.wait_for_phase("Completed")
    assert benchmark.read()["metadata"]["uid"] == uid
    assert [run.phase for run in benchmark.runs().values()] == ["Succeeded"]


def test_a_training_operator_that_is_away_is_told(
    cluster: Cluster, make_namespace: Callable[[], str]
) -> None:
    benchmark = BenchmarkOnCluster(cluster, make_namespace(), "no-webhook")
    deployment = ("deployment/training-operator", "--namespace=kubeflow")
    cluster.kubectl("scale", *deployment, "--replicas=0")
    try:
        replicas = ("get", *deployment, "--output=jsonpath={.status.replicas}")
        wait_until("its end", lambda: not cluster.kubectl(*replicas), timeout=60)
        benchmark.apply(instant_spec())
        message = benchmark.wait_for_condition("Degraded", "BackendNotReady")
        assert "does what runs PyTorchJobs run?" in message
        assert benchmark.seconds_until("Degraded") <= TOLD_WITHIN_SECONDS
    finally:
        cluster.kubectl("scale", *deployment, "--replicas=1")
        cluster.kubectl("rollout", "status", *deployment, "--timeout=90s")
    benchmark.wait_for_phase("Completed")
    assert [run.attempt for run in benchmark.runs().values()] == [1]


def test_the_api_server_refuses_what_the_schema_can_know(
    cluster: Cluster, make_namespace: Callable[[], str]
) -> None:
    benchmark = BenchmarkOnCluster(cluster, make_namespace(), "refused")
    spec = instant_spec()
    spec["sweep"]["matrix"]["precision"] = ["FP31"]
    with pytest.raises(ClusterError, match=r'precision\[0\]: Unsupported value: "FP31"'):
        benchmark.apply(spec)
