"""PyTorchJob of the Kubeflow training-operator: one Master, never restarted by it.

Retries are new jobs of ours: restartPolicy ExitCode loops for ever at exit codes from 128
(kubeflow/training-operator#2045), and its activeDeadlineSeconds only looks when something else
happens (#3358), so deadlines are ours, too.
"""

from __future__ import annotations

from typing import Any

from gpubench.backends.pod_template import JobRequest, build_pod_template
from gpubench.backends.states import JobBackend, JobPhase, Object, phase_by_conditions

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def build_pytorch_job(request: JobRequest) -> dict[str, Any]:
    """Return the PyTorchJob of an attempt; with a queue it is made suspended: Kueue starts it."""
    metadata = request.metadata
    run_policy: dict[str, Any] = {"cleanPodPolicy": "None"}
    if request.execution.queue_name:
        metadata["labels"] = metadata["labels"] | {QUEUE_LABEL: request.execution.queue_name}
        run_policy["suspend"] = True
    template = build_pod_template(request)
    # The operator of PyTorchJobs overwrites the template's with a warning.
    del template["spec"]["restartPolicy"]
    master = {"replicas": 1, "restartPolicy": "Never", "template": template}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": metadata,
        "spec": {"runPolicy": run_policy, "pytorchReplicaSpecs": {"Master": master}},
    }


def read_phase(job: Object) -> tuple[JobPhase, str]:
    """Return where a PyTorchJob stands by its conditions."""
    suspended = bool(job["spec"].get("runPolicy", {}).get("suspend"))
    return phase_by_conditions(job, "Succeeded", suspended=suspended)


PYTORCH_JOB = JobBackend(
    api_version="kubeflow.org/v1",
    kind="PyTorchJob",
    build_job=build_pytorch_job,
    read_phase=read_phase,
)
