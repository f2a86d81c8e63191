"""TrainJob of Kubeflow Trainer v2, the training-operator's successor, over JobSet.

Written against trainer.kubeflow.org/v1alpha1 of Trainer 2.1 and its runtime `torch-distributed`;
the pod's own properties go in as an override of the runtime's template. What a TrainJob cannot
override is the runtime's to say: security contexts, the pull policy and the grace period.
"""

from __future__ import annotations

from typing import Any

from gpubench.backends.pod_template import JobRequest, build_pod_template
from gpubench.backends.pytorchjob import QUEUE_LABEL
from gpubench.backends.states import JobBackend, JobPhase, Object, phase_by_conditions

RUNTIME = "torch-distributed"
TRAINER_JOB = "node"
"""Name of the replicated job in that runtime."""
TRAINER_CONTAINER = "node"
"""Name of its container."""


def build_train_job(request: JobRequest) -> dict[str, Any]:
    """Return the TrainJob of an attempt: one node, one process that starts the ranks itself."""
    metadata = request.metadata
    template = build_pod_template(request)
    (container,) = template["spec"]["containers"]
    overrides = {
        name: template["spec"][name]
        for name in ("nodeSelector", "affinity", "tolerations", "volumes", "imagePullSecrets")
        if name in template["spec"]
    }
    overrides["containers"] = [
        {"name": TRAINER_CONTAINER, "volumeMounts": container["volumeMounts"]},
    ]
    spec: dict[str, Any] = {
        "runtimeRef": {"name": RUNTIME},
        "trainer": {
            "numNodes": 1,
            "numProcPerNode": 1,
            "image": container["image"],
            "command": container["command"],
            "args": container["args"],
            "env": container["env"],
            "resourcesPerNode": container["resources"],
        },
        "podTemplateOverrides": [
            {
                "targetJobs": [{"name": TRAINER_JOB}],
                "metadata": template["metadata"],
                "spec": overrides,
            }
        ],
    }
    if request.execution.queue_name:
        metadata["labels"] = metadata["labels"] | {QUEUE_LABEL: request.execution.queue_name}
        spec["suspend"] = True
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata,
        "spec": spec,
    }


def read_phase(job: Object) -> tuple[JobPhase, str]:
    """Return where a TrainJob stands by its conditions."""
    return phase_by_conditions(job, "Complete", suspended=bool(job["spec"].get("suspend")))


TRAIN_JOB = JobBackend(
    api_version="trainer.kubeflow.org/v1alpha1",
    kind="TrainJob",
    build_job=build_train_job,
    read_phase=read_phase,
    owns_pods=False,
)
