"""batch/v1 Job: where no training-operator is installed."""

from __future__ import annotations

from typing import Any

from gpubench.backends.pod_template import JobRequest, build_pod_template
from gpubench.backends.pytorchjob import QUEUE_LABEL
from gpubench.backends.states import JobBackend, JobPhase, Object, phase_by_conditions


def build_batch_job(request: JobRequest) -> dict[str, Any]:
    """Return the Job of an attempt: one pod, never replaced."""
    metadata = request.metadata
    spec: dict[str, Any] = {
        "backoffLimit": 0,
        "completions": 1,
        "parallelism": 1,
        "podReplacementPolicy": "Failed",
        "template": build_pod_template(request),
    }
    if request.execution.queue_name:
        metadata["labels"] = metadata["labels"] | {QUEUE_LABEL: request.execution.queue_name}
        spec["suspend"] = True
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def read_phase(job: Object) -> tuple[JobPhase, str]:
    """Return where a Job stands by its conditions."""
    return phase_by_conditions(job, "Complete", suspended=bool(job["spec"].get("suspend")))


BATCH_JOB = JobBackend(
    api_version="batch/v1", kind="Job", build_job=build_batch_job, read_phase=read_phase
)
