"""The objects that execute attempts: what they may do, what they ask for, and that they are known
to those who run them."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gpubench.api.enums import Backend, WorkloadKind
from gpubench.api.run_spec import RunSpec
from gpubench.backends import BACKENDS, JobRequest, PodSettings
from gpubench.backends.pytorchjob import QUEUE_LABEL
from tests.unit.backends.requests import EVERYTHING, SETTINGS, benchmark, request_for

FULL_SETTINGS = PodSettings(
    images={WorkloadKind.IMAGE_RECOGNITION: "example/image:1", WorkloadKind.LLM_TUNING: ""},
    image_pull_secrets=("ours",),
    run_as_user=1234,
    runtime_class_name="nvidia",
)
PLAIN = request_for(benchmark())
FULL = request_for(benchmark(EVERYTHING, results={"volumeClaim": "results"}), FULL_SETTINGS)
SHARED = request_for(benchmark({"isolation": "Shared", "device": "CPU"}))
REQUESTS = {"plain": PLAIN, "full": FULL, "shared": SHARED}
NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", fullmatch=True).filter(
    lambda name: ".." not in name and ".-" not in name and "-." not in name
)


def build(request: JobRequest, backend: Backend = Backend.PYTORCH_JOB) -> dict[str, Any]:
    return BACKENDS[backend].build_job(request)


def build_all() -> list[dict[str, Any]]:
    return [build(request, backend) for request, backend in product(REQUESTS.values(), Backend)]


def template_of(job: dict[str, Any]) -> dict[str, Any]:
    """Return the pod template of a PyTorchJob or Job."""
    spec = job["spec"]
    if job["kind"] == "PyTorchJob":
        spec = spec["pytorchReplicaSpecs"]["Master"]
    template: dict[str, Any] = spec["template"]
    return template


def pod_of(request: JobRequest, backend: Backend = Backend.PYTORCH_JOB) -> dict[str, Any]:
    spec: dict[str, Any] = template_of(build(request, backend))["spec"]
    return spec


def container_of(request: JobRequest) -> dict[str, Any]:
    (container,) = pod_of(request)["containers"]
    found: dict[str, Any] = container
    return found


def problems(schema: str, job: dict[str, Any]) -> list[str]:
    content = json.loads(Path(__file__).with_name(schema).read_text(encoding="utf-8"))
    body = {key: value for key, value in job.items() if key != "metadata"}
    return [error.message for error in Draft202012Validator(content).iter_errors(body)]


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize(
    ("backend", "schema"),
    [(Backend.PYTORCH_JOB, "pytorchjob.json"), (Backend.TRAIN_JOB, "trainjob.json")],
)
def test_other_projects_resources_keep_to_their_schema(
    name: str, backend: Backend, schema: str
) -> None:
    job = build(REQUESTS[name], backend)
    assert problems(schema, job) == []
    job["spec"]["noSuchField"] = 1
    assert problems(schema, job)


@pytest.mark.parametrize("backend", [Backend.PYTORCH_JOB, Backend.JOB])
@pytest.mark.parametrize("name", REQUESTS)
def test_pods_are_restricted(name: str, backend: Backend) -> None:
    """What the restricted Pod Security Standard asks for, and no credentials."""
    pod = pod_of(REQUESTS[name], backend)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC", "serviceAccountName", "hostAliases"} & set(pod)
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    sources = {source for volume in pod["volumes"] for source in volume if source != "name"}
    assert sources <= {"downwardAPI", "persistentVolumeClaim", "emptyDir"}


@pytest.mark.parametrize("backend", Backend)
def test_no_field_of_a_spec_reaches_the_host(backend: Backend) -> None:
    text = json.dumps(build(FULL, backend))
    for word in ("hostPath", "hostNetwork", "hostPID", "privileged", "serviceAccountName"):
        assert word not in text


def test_pytorch_job_is_one_master_that_is_never_restarted() -> None:
    spec = build(PLAIN)["spec"]
    assert spec["runPolicy"] == {"cleanPodPolicy": "None"}
    assert list(spec["pytorchReplicaSpecs"]) == ["Master"]
    master = spec["pytorchReplicaSpecs"]["Master"]
    assert (master["replicas"], master["restartPolicy"]) == (1, "Never")
    assert container_of(PLAIN)["name"] == "pytorch"


def test_batch_job_is_one_pod_that_is_never_replaced() -> None:
    spec = build(PLAIN, Backend.JOB)["spec"]
    assert (spec["backoffLimit"], spec["completions"], spec["parallelism"]) == (0, 1, 1)
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize("backend", Backend)
def test_job_is_owned_by_its_run_and_found_by_its_labels(backend: Backend) -> None:
    metadata = build(PLAIN, backend)["metadata"]
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == (
        "GPUBenchmarkRun",
        PLAIN.run,
        "uid-run",
    )
    assert owner["controller"] is True
    assert metadata["labels"] == {
        "app.kubernetes.io/managed-by": "gpubench",
        "gpubench.io/benchmark": "demo",
        "gpubench.io/benchmark-uid": "uid-benchmark",
        "gpubench.io/run": PLAIN.run,
        "gpubench.io/attempt": "1",
    }


@pytest.mark.parametrize("backend", Backend)
def test_pods_carry_the_labels_and_the_run_spec(backend: Backend) -> None:
    """Without them no watch would tell of the pod, and it would have nothing to do."""
    job = build(PLAIN, backend)
    if backend is Backend.TRAIN_JOB:
        (override,) = job["spec"]["podTemplateOverrides"]
        metadata = override["metadata"]
    else:
        metadata = template_of(job)["metadata"]
    assert metadata["labels"] == job["metadata"]["labels"]
    told = RunSpec.model_validate_json(metadata["annotations"]["gpubench.io/run-spec"])
    assert told == PLAIN.spec


def test_run_spec_arrives_as_the_file_that_the_command_names() -> None:
    pod, container = pod_of(PLAIN), container_of(PLAIN)
    volume = next(v for v in pod["volumes"] if v["name"] == "run-spec")
    (item,) = volume["downwardAPI"]["items"]
    assert item["fieldRef"]["fieldPath"] == "metadata.annotations['gpubench.io/run-spec']"
    mount = next(m for m in container["volumeMounts"] if m["name"] == "run-spec")
    assert container["command"] == ["gpubench-run"]
    assert f"--spec={mount['mountPath']}/{item['path']}" in container["args"]
    assert f"--output=/results/lab/demo/{PLAIN.run}/attempt-1" in container["args"]


@pytest.mark.parametrize("name", REQUESTS)
def test_every_mount_has_its_volume(name: str) -> None:
    volumes = {volume["name"] for volume in pod_of(REQUESTS[name])["volumes"]}
    mounts = container_of(REQUESTS[name])["volumeMounts"]
    assert {mount["name"] for mount in mounts} == volumes
    assert len({mount["mountPath"] for mount in mounts}) == len(mounts)


def test_writable_paths_are_volumes_because_the_root_is_read_only() -> None:
    writable = {
        m["mountPath"] for m in container_of(PLAIN)["volumeMounts"] if not m.get("readOnly")
    }
    assert {"/tmp", "/dev/shm", "/results"} <= writable


def volumes_of(request: JobRequest) -> dict[str, dict[str, Any]]:
    return {volume["name"]: volume for volume in pod_of(request)["volumes"]}


def test_claims_are_mounted_and_data_cannot_be_written() -> None:
    volumes = volumes_of(FULL)
    assert volumes["results"]["persistentVolumeClaim"] == {"claimName": "results"}
    assert volumes["data"]["persistentVolumeClaim"] == {"claimName": "datasets"}
    mounts = {mount["name"]: mount for mount in container_of(FULL)["volumeMounts"]}
    assert mounts["data"]["readOnly"] is True
    assert "readOnly" not in mounts["results"]


def test_without_claims_results_and_data_are_the_pods_own() -> None:
    volumes = volumes_of(PLAIN)
    assert volumes["results"]["emptyDir"] == volumes["data"]["emptyDir"] == {}


def test_shared_memory_is_memory_of_the_size_asked_for() -> None:
    assert volumes_of(FULL)["shared-memory"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "2Gi"}


@pytest.mark.parametrize(
    ("execution", "resources"),
    [
        (
            {},
            {
                "requests": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "2"},
                "limits": {"memory": "64Gi", "nvidia.com/gpu": "2"},
            },
        ),
        (
            {"device": "CPU"},
            {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "4Gi"}},
        ),
        (
            {"resources": {"cpu": "500m", "memory": "1Gi"}},
            {
                "requests": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"},
                "limits": {"memory": "1Gi", "nvidia.com/gpu": "2"},
            },
        ),
    ],
)
def test_resources(execution: dict[str, Any], resources: dict[str, Any]) -> None:
    assert container_of(request_for(benchmark(execution)))["resources"] == resources


def test_other_gpu_resources_are_asked_for_and_tolerated() -> None:
    settings = PodSettings(images=SETTINGS.images, gpu_resource="amd.com/gpu")
    request = request_for(benchmark(), settings)
    assert container_of(request)["resources"]["limits"]["amd.com/gpu"] == "2"
    assert pod_of(request)["tolerations"] == [
        {"key": "amd.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    ]


def test_simulated_gpus_are_asked_for_and_trained_without() -> None:
    settings = PodSettings(images=SETTINGS.images, simulated_gpus=True)
    request = request_for(benchmark(), settings)
    assert container_of(request)["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert request.spec.device == "CPU"
    assert PLAIN.spec.device == "CUDA"


def test_placement_priority_and_secrets() -> None:
    pod = pod_of(FULL)
    assert pod["nodeSelector"] == {"gpu": "h100"}
    assert pod["tolerations"][1] == {
        "key": "team",
        "operator": "Equal",
        "value": "a",
        "effect": "NoSchedule",
    }
    assert pod["priorityClassName"] == "low"
    assert pod["runtimeClassName"] == "nvidia"
    assert pod["imagePullSecrets"] == [{"name": "ours"}, {"name": "mine"}]
    assert pod["securityContext"]["runAsUser"] == 1234
    assert container_of(FULL)["image"] == "example/mine:2"
    assert container_of(FULL)["imagePullPolicy"] == "Never"


def test_what_was_not_asked_for_is_not_there() -> None:
    absent = {"nodeSelector", "priorityClassName", "runtimeClassName", "imagePullSecrets"}
    assert not absent & set(pod_of(PLAIN))
    assert "affinity" not in pod_of(SHARED)


def test_exclusive_run_keeps_all_other_runs_off_its_node() -> None:
    (term,) = pod_of(PLAIN)["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    selected = term["labelSelector"]["matchLabels"]
    assert selected.items() <= build(SHARED)["metadata"]["labels"].items()
    assert term["namespaceSelector"] == {}
    assert term["topologyKey"] == "kubernetes.io/hostname"


@pytest.mark.parametrize("backend", Backend)
def test_queued_job_is_made_suspended_for_its_queue(backend: Backend) -> None:
    job = build(FULL, backend)
    assert job["metadata"]["labels"][QUEUE_LABEL] == "research"
    policy = job["spec"]["runPolicy"] if backend is Backend.PYTORCH_JOB else job["spec"]
    assert policy["suspend"] is True
    plain = build(PLAIN, backend)
    assert QUEUE_LABEL not in plain["metadata"]["labels"]
    assert "suspend" not in json.dumps(plain)


@given(name=NAMES, attempt=st.integers(1, 999))
def test_names_and_labels_fit_whatever_a_benchmark_is_called(name: str, attempt: int) -> None:
    request = request_for(benchmark(name=name), attempt=attempt)
    metadata = build(request)["metadata"]
    assert len(metadata["name"]) <= 54
    assert metadata["name"].endswith(f"-{attempt}")
    assert all(len(value) <= 63 for value in metadata["labels"].values())
    folder = f"/results/lab/{name}/{request.run}/attempt-{attempt}"
    assert f"--output={folder}" in container_of(request)["args"]


def test_longest_benchmark_name() -> None:
    request = request_for(benchmark(name="b" * 253), attempt=999)
    job = build(request)
    assert len(job["metadata"]["name"]) <= 54
    assert request.spec.identity.benchmark == "b" * 253
    assert f"/results/lab/{'b' * 253}/" in container_of(request)["args"][1]
