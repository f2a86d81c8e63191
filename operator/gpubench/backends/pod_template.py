"""The pod that executes an attempt, the same under every backend."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from gpubench.api.enums import DeviceKind, Isolation, WorkloadKind
from gpubench.api.execution import Execution, Results
from gpubench.api.layout import RUN_SPEC_FILE, attempt_path
from gpubench.api.run_spec import RunSpec
from gpubench.backends.labels import MANAGED_BY, MANAGED_BY_LABEL, attempt_labels
from gpubench.sweep.names import job_name

CONTAINER = "pytorch"
"""Name that the training-operator demands of a PyTorchJob's container."""
RUN_SPEC_ANNOTATION = "gpubench.io/run-spec"
RUN_SPEC_MOUNT = "/etc/gpubench/run"
RESULTS_MOUNT = "/results"
DATA_MOUNT = "/data"
METRICS_PORT = 9464
"""Where a pod serves its live metrics; the chart's PodMonitor knows it by the name `metrics`."""
RANK_GRACE_SECONDS = 20
POD_GRACE_SECONDS = 60
"""Time that a pod has after SIGTERM: the ranks' grace and the writing of the result."""
CUDA_CORES_PER_GPU = 8
CUDA_MEMORY_GIB_PER_GPU = 32
CPU_MEMORY_GIB_PER_RANK = 2


@dataclass(frozen=True)
class PodSettings:
    """What whoever runs the operator decides about every pod."""

    images: dict[WorkloadKind, str]
    """Default image of each workload; empty where there is none."""
    image_pull_secrets: tuple[str, ...] = ()
    gpu_resource: str = "nvidia.com/gpu"
    simulated_gpus: bool = False
    """Whether pods that ask for GPUs train on their CPU."""
    run_as_user: int = 65532
    runtime_class_name: str | None = None


@dataclass(frozen=True)
class JobRequest:
    """Everything that an attempt's job is made from."""

    namespace: str
    benchmark: str
    benchmark_uid: str
    run_uid: str
    spec: RunSpec
    execution: Execution
    results: Results
    settings: PodSettings

    @property
    def run(self) -> str:
        """Name of the run."""
        return self.spec.identity.run

    @property
    def name(self) -> str:
        """Name of the job, the same however often the attempt is asked for."""
        return job_name(self.run, self.spec.identity.attempt)

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the job and its pod."""
        attempt = self.spec.identity.attempt
        return attempt_labels(self.benchmark, self.benchmark_uid, self.run, attempt)

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata of the job: its run owns it."""
        owner = {
            "apiVersion": "gpubench.io/v1alpha1",
            "kind": "GPUBenchmarkRun",
            "name": self.run,
            "uid": self.run_uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        return {
            "name": self.name,
            "namespace": self.namespace,
            "labels": self.labels,
            "ownerReferences": [owner],
        }

    @property
    def wants_gpus(self) -> bool:
        """Whether the pod asks for GPUs, real or simulated."""
        return self.execution.device is not DeviceKind.CPU


def training_device(execution: Execution, settings: PodSettings) -> DeviceKind:
    """Return what a run's ranks train on in a pod."""
    if execution.device is DeviceKind.CPU or settings.simulated_gpus:
        return DeviceKind.CPU
    return DeviceKind.CUDA


def workload_image(request: JobRequest) -> str:
    """Return the image: the benchmark's, else the operator's for the workload."""
    return request.execution.image or request.settings.images[request.spec.workload.kind]


def output_folder(request: JobRequest) -> str:
    """Return the attempt's folder in the pod."""
    identity = request.spec.identity
    path = attempt_path(request.benchmark, identity.run, identity.attempt)
    return f"{RESULTS_MOUNT}/{request.namespace}/{path.as_posix()}"


def build_pod_template(request: JobRequest) -> dict[str, Any]:
    """Return the pod template: restricted, without credentials, and of one container."""
    execution, settings = request.execution, request.settings
    secrets = dict.fromkeys((*settings.image_pull_secrets, *execution.image_pull_secrets))
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": POD_GRACE_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": settings.run_as_user,
            "runAsGroup": settings.run_as_user,
            "fsGroup": settings.run_as_user,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "tolerations": _tolerations(request),
        "containers": [_container(request)],
        "volumes": _volumes(request),
    }
    optional = {
        "imagePullSecrets": [{"name": name} for name in secrets],
        "nodeSelector": execution.placement.node_selector,
        "priorityClassName": execution.priority_class_name,
        "runtimeClassName": settings.runtime_class_name,
        "affinity": _affinity(execution),
    }
    spec.update({name: value for name, value in optional.items() if value})
    annotations = {
        RUN_SPEC_ANNOTATION: request.spec.model_dump_json(by_alias=True, exclude_none=True)
    }
    return {"metadata": {"labels": request.labels, "annotations": annotations}, "spec": spec}


def _container(request: JobRequest) -> dict[str, Any]:
    return {
        "name": CONTAINER,
        "image": workload_image(request),
        "imagePullPolicy": request.execution.image_pull_policy.value,
        "command": ["gpubench-run"],
        "args": [
            f"--spec={RUN_SPEC_MOUNT}/{RUN_SPEC_FILE}",
            f"--output={output_folder(request)}",
            "--make-output",
            f"--grace-seconds={RANK_GRACE_SECONDS}",
            f"--metrics-port={METRICS_PORT}",
        ],
        "ports": [{"name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP"}],
        "env": [
            {"name": "GPUBENCH_TERMINATION_LOG", "value": "/dev/termination-log"},
            {"name": "GPUBENCH_NAMESPACE", "value": request.namespace},
            {"name": "HOME", "value": "/tmp"},  # noqa: S108 - an emptyDir of the pod's own
            # torch asks for the user's name, which this uid does not have.
            {"name": "USER", "value": MANAGED_BY},
            {"name": "LOGNAME", "value": MANAGED_BY},
        ],
        "resources": _resources(request),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "run-spec", "mountPath": RUN_SPEC_MOUNT, "readOnly": True},
            {"name": "results", "mountPath": RESULTS_MOUNT},
            {"name": "data", "mountPath": DATA_MOUNT, **_read_only_data(request)},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - the pod's own
            {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108 - the pod's own
        ],
    }


def _read_only_data(request: JobRequest) -> dict[str, bool]:
    return {"readOnly": True} if request.execution.data_volume_claim else {}


def _volumes(request: JobRequest) -> list[dict[str, Any]]:
    run_spec = {
        "path": RUN_SPEC_FILE,
        "fieldRef": {"fieldPath": f"metadata.annotations['{RUN_SPEC_ANNOTATION}']"},
    }
    shared_memory = request.execution.resources.shared_memory
    return [
        {"name": "run-spec", "downwardAPI": {"items": [run_spec]}},
        {"name": "results", **_claim(request.results.volume_claim)},
        {"name": "data", **_claim(request.execution.data_volume_claim)},
        {"name": "tmp", "emptyDir": {}},
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": shared_memory}},
    ]


def _claim(claim: str | None) -> dict[str, Any]:
    return {"persistentVolumeClaim": {"claimName": claim}} if claim else {"emptyDir": {}}


def _resources(request: JobRequest) -> dict[str, Any]:
    asked, gpus = request.execution.resources, request.spec.gpus
    on_gpu = request.wants_gpus
    cores = asked.cpu or str(gpus * (CUDA_CORES_PER_GPU if on_gpu else 1))
    gibibytes = CUDA_MEMORY_GIB_PER_GPU if on_gpu else CPU_MEMORY_GIB_PER_RANK
    memory = asked.memory or f"{gpus * gibibytes}Gi"
    gpu_limit = {request.settings.gpu_resource: str(gpus)} if on_gpu else {}
    return {
        "requests": {"cpu": cores, "memory": memory, **gpu_limit},
        "limits": {"memory": memory, **gpu_limit},
    }


def cores_of(quantity: str) -> Decimal:
    """Return the processor cores of a Kubernetes quantity: `500m` is half a core."""
    return Decimal(quantity[:-1]) / 1000 if quantity.endswith("m") else Decimal(quantity)


def _tolerations(request: JobRequest) -> list[dict[str, Any]]:
    asked = [t.to_json_dict() for t in request.execution.placement.tolerations]
    if not request.wants_gpus:
        return asked
    gpu_nodes = {"key": request.settings.gpu_resource, "operator": "Exists", "effect": "NoSchedule"}
    return [gpu_nodes, *asked]


def _affinity(execution: Execution) -> dict[str, Any] | None:
    """Keep other runs, of whatever benchmark and namespace, off the node of an exclusive one."""
    if execution.isolation is not Isolation.EXCLUSIVE_NODE:
        return None
    term = {
        "labelSelector": {"matchLabels": {MANAGED_BY_LABEL: MANAGED_BY}},
        "namespaceSelector": {},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
