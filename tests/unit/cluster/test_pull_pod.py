"""The pod through which a volume is read."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.cluster.errors import ClusterError
from gpubench.cluster.pull_pod import is_running, pull_pod, what_for, why_never
from gpubench.cluster.pulling import find_image
from tests.unit.cluster.objects import benchmark, planned, run_object


def pod(phase: str, state: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    containers = [{"name": "pull", "state": state}] if state else []
    return {"status": {"phase": phase, "containerStatuses": containers, **status}}


def test_it_may_do_nothing_but_read_the_volume() -> None:
    spec = pull_pod(benchmark(), "0123", "results", "image:1")["spec"]
    (container,) = spec["containers"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert [mount["readOnly"] for mount in container["volumeMounts"]] == [True]
    assert spec["volumes"][0]["persistentVolumeClaim"]["claimName"] == "results"


def test_it_goes_with_its_benchmark_and_ends_by_itself() -> None:
    manifest = pull_pod(benchmark(), "0123", "results", "image:1")
    (owner,) = manifest["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("GPUBenchmark", "demo", "0123")
    assert manifest["spec"]["activeDeadlineSeconds"] > 0


def test_it_goes_where_runs_may_go_and_is_not_taken_for_one() -> None:
    execution = {
        "imagePullSecrets": ["registry"],
        "placement": {"nodeSelector": {"pool": "gpu"}, "tolerations": [{"key": "gpu"}]},
    }
    manifest = pull_pod(benchmark(execution=execution), "0123", "results", "image:1")
    assert manifest["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert manifest["spec"]["nodeSelector"] == {"pool": "gpu"}
    assert manifest["spec"]["tolerations"] == [{"key": "gpu", "operator": "Equal"}]
    assert "app.kubernetes.io/managed-by" not in manifest["metadata"]["labels"]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (pod("Pending"), None),
        (pod("Pending", {"waiting": {"reason": "ContainerCreating"}}), None),
        (
            pod("Pending", {"waiting": {"reason": "ErrImagePull", "message": "no"}}),
            "ErrImagePull: no",
        ),
        (pod("Failed", message="deadline"), "it ended: deadline"),
    ],
)
def test_why_it_will_never_run(found: dict[str, Any], words: str | None) -> None:
    assert why_never(found) == words


def test_what_it_waits_for() -> None:
    unscheduled = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}
    assert what_for(pod("Pending", conditions=[unscheduled])) == "0/1 nodes are available"
    assert what_for(pod("Pending", {"waiting": {"reason": "Creating"}})) == "Creating"
    assert is_running(pod("Running"))


def test_the_image_is_that_of_the_spec_else_what_runs_tell() -> None:
    run = run_object(planned())
    noted = run.model_copy(
        update={
            "metadata": run.metadata.model_copy(update={"annotations": {"gpubench.io/image": "b"}})
        }
    )
    assert find_image(benchmark(execution={"image": "a"}), [noted]) == "a"
    assert find_image(benchmark(), [run, noted]) == "b"
    with pytest.raises(ClusterError, match="--image"):
        find_image(benchmark(), [run])
