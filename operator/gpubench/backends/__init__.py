"""Runs as Kubernetes objects: what executes an attempt, and what became of it. Pure.

    JobRequest -> build_job -> the object to create
    the object and its pods -> observe_attempt -> ObservedAttempt and its result

A backend is one module with one `JobBackend`, and one line here.
"""

from __future__ import annotations

from gpubench.api.enums import Backend
from gpubench.backends.attempts import AttemptOutcome, observe_attempt, pod_is_overdue
from gpubench.backends.job import BATCH_JOB
from gpubench.backends.labels import (
    ATTEMPT_LABEL,
    BENCHMARK_LABEL,
    BENCHMARK_UID_LABEL,
    IMAGE_ANNOTATION,
    MANAGED_BY,
    RUN_LABEL,
    SELECTOR,
)
from gpubench.backends.pod_template import JobRequest, PodSettings
from gpubench.backends.pods import PodState, read_pod
from gpubench.backends.pytorchjob import PYTORCH_JOB
from gpubench.backends.states import JobBackend, JobPhase, JobState, read_job
from gpubench.backends.trainjob import TRAIN_JOB

BACKENDS: dict[Backend, JobBackend] = {
    Backend.PYTORCH_JOB: PYTORCH_JOB,
    Backend.JOB: BATCH_JOB,
    Backend.TRAIN_JOB: TRAIN_JOB,
}

__all__ = [
    "ATTEMPT_LABEL",
    "BACKENDS",
    "BENCHMARK_LABEL",
    "BENCHMARK_UID_LABEL",
    "IMAGE_ANNOTATION",
    "MANAGED_BY",
    "RUN_LABEL",
    "SELECTOR",
    "AttemptOutcome",
    "JobBackend",
    "JobPhase",
    "JobRequest",
    "JobState",
    "PodSettings",
    "PodState",
    "observe_attempt",
    "pod_is_overdue",
    "read_job",
    "read_pod",
]
