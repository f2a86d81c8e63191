"""The cluster itself: what the other end-to-end tests lean on."""

from __future__ import annotations

import json

import pytest

from tests.e2e.cluster import Cluster, ClusterError
from tests.e2e.cluster.images import BASE_IMAGE, ensure_base_image, load
from tests.e2e.cluster.layout import GPUS, NODE


def pytorch_job(name: str, script: str, gpus: int = 1) -> str:
    """A job as restricted as those of the operator are."""
    container = {
        "name": "pytorch",
        "image": BASE_IMAGE,
        "imagePullPolicy": "Never",
        "command": ["python3", "-c", script],
        "resources": {"limits": {"nvidia.com/gpu": gpus}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "restartPolicy": "Never", "template": {"spec": pod}}
            }
        },
    }
    return json.dumps(job)


def gpus(cluster: Cluster) -> str:
    path = r"jsonpath={.status.allocatable.nvidia\.com/gpu}"
    return cluster.kubectl("get", "node", NODE, "-o", path)


def test_the_node_is_ready_and_has_four_gpus(own_cluster: Cluster) -> None:
    own_cluster.kubectl("wait", "--for=condition=Ready", f"node/{NODE}", "--timeout=10s")
    assert gpus(own_cluster) == str(GPUS)


def test_a_pytorch_job_runs_and_delivers_its_message(own_cluster: Cluster, namespace: str) -> None:
    ensure_base_image(own_cluster.layout)
    load(BASE_IMAGE, own_cluster.layout)
    script = "import os; open('/dev/termination-log', 'w').write(f'uid {os.getuid()}'); print('hi')"
    own_cluster.apply(pytorch_job("smoke", script), f"--namespace={namespace}")
    ended = ("wait", "--for=condition=Succeeded", "pytorchjob/smoke", f"--namespace={namespace}")
    own_cluster.kubectl(*ended, "--timeout=60s")
    path = "jsonpath={.status.containerStatuses[0].state.terminated.message}"
    pod = ("pod/smoke-master-0", f"--namespace={namespace}")
    assert own_cluster.kubectl("get", *pod, "-o", path) == "uid 65532"
    assert own_cluster.kubectl("logs", *pod) == "hi\n"


def test_the_webhook_refuses_a_job_without_its_container(cluster: Cluster, namespace: str) -> None:
    job = json.loads(pytorch_job("nameless", "pass"))
    pod = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    pod["containers"][0]["name"] = "other"
    with pytest.raises(ClusterError, match="with name pytorch"):
        cluster.apply(json.dumps(job), f"--namespace={namespace}")


def test_more_gpus_than_the_node_has_are_not_scheduled(
    own_cluster: Cluster, namespace: str
) -> None:
    own_cluster.apply(pytorch_job("large", "pass", gpus=GPUS + 1), f"--namespace={namespace}")
    reason = "jsonpath={.status.conditions[?(@.type=='PodScheduled')].reason}=Unschedulable"
    own_cluster.kubectl("wait", "--for=create", "pod/large-master-0", f"--namespace={namespace}")
    own_cluster.kubectl("wait", f"--for={reason}", "pod/large-master-0", f"--namespace={namespace}")


def test_it_holds_its_objects_over_a_crash_of_the_api_server(
    own_cluster: Cluster, namespace: str
) -> None:
    own_cluster.restart_api_server(kill=True)
    assert own_cluster.kubectl("get", "namespace", namespace, "-o", "name").strip()


def test_a_pod_outlives_a_restart_of_the_kubelet(own_cluster: Cluster, namespace: str) -> None:
    ensure_base_image(own_cluster.layout)
    load(BASE_IMAGE, own_cluster.layout)
    script = "import time; time.sleep(20)"
    own_cluster.apply(pytorch_job("patient", script), f"--namespace={namespace}")
    where = f"--namespace={namespace}"
    own_cluster.kubectl("wait", "--for=condition=Running", "pytorchjob/patient", where)
    own_cluster.stop_kubelet()
    own_cluster.start_kubelet()
    assert gpus(own_cluster) == str(GPUS)
    own_cluster.kubectl("wait", "--for=condition=Succeeded", "pytorchjob/patient", where)
