"""What a job's own status says, the same for every backend."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

from gpubench.backends.labels import (
    ATTEMPT_LABEL,
    BENCHMARK_UID_LABEL,
    RUN_LABEL,
    TEMPLATE_ANNOTATION,
    WAITING_SINCE_ANNOTATION,
)
from gpubench.backends.pod_template import JobRequest
from gpubench.lifecycle.timestamps import from_timestamp, to_timestamp

Manifest = dict[str, Any]
Object = Mapping[str, Any]
"""A Kubernetes object as the API server sends it."""


class JobPhase(StrEnum):
    """Where a job stands by its own account."""

    QUEUED = "Queued"
    """Suspended until a queue admits it."""
    ACTIVE = "Active"
    """Its pod exists or is about to."""
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class JobState:
    """An attempt's job. Times are seconds since the epoch."""

    run: str
    attempt: int
    benchmark_uid: str
    namespace: str
    name: str
    uid: str
    run_uid: str
    """Uid of the run that owns it; a run that was deleted and made again has another one."""
    kind: str
    phase: JobPhase
    message: str
    created_at: float
    active_since: float
    """When its attempt was first made, or it last left its queue."""
    template: str
    """Digest of what it was made from; empty where that is unknown."""
    deleting: bool


@dataclass(frozen=True)
class JobBackend:
    """How one kind of Kubernetes object executes an attempt."""

    api_version: str
    kind: str
    build_job: Callable[[JobRequest], Manifest]
    read_phase: Callable[[Object], tuple[JobPhase, str]]
    """Status of the object -> its phase, and a sentence where there is one."""
    owns_pods: bool = True
    """Whether its pods name it as their owner; else an object in between does."""

    def digest(self, request: JobRequest) -> str:
        """Return a digest of what the job of a request is made from."""
        return _digest(self.build_job(request))

    def make_job(self, request: JobRequest, waiting_since: float | None = None) -> Manifest:
        """Return the object to create: it carries the digest of what it is made from."""
        job = self.build_job(request)
        annotations = {TEMPLATE_ANNOTATION: _digest(job)}
        if waiting_since is not None:
            annotations[WAITING_SINCE_ANNOTATION] = to_timestamp(waiting_since)
        job["metadata"]["annotations"] = job["metadata"].get("annotations", {}) | annotations
        return job


def _digest(job: Manifest) -> str:
    labelled = {"kind": job["kind"], "labels": job["metadata"]["labels"], "spec": job["spec"]}
    return sha256(json.dumps(labelled, sort_keys=True).encode()).hexdigest()[:16]


def read_job(backend: JobBackend, job: Object) -> JobState | None:
    """Return a job's state, None if it is not one of ours."""
    metadata = job["metadata"]
    labels = metadata.get("labels", {})
    run, attempt = labels.get(RUN_LABEL), labels.get(ATTEMPT_LABEL, "")
    if not run or not attempt.isdecimal():
        return None
    phase, message = backend.read_phase(job)
    return JobState(
        run=run,
        attempt=int(attempt),
        benchmark_uid=labels.get(BENCHMARK_UID_LABEL, ""),
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        run_uid=next((o["uid"] for o in metadata.get("ownerReferences", [])), ""),
        kind=backend.kind,
        phase=phase,
        message=message,
        created_at=from_timestamp(metadata["creationTimestamp"]),
        active_since=_active_since(job),
        template=metadata.get("annotations", {}).get(TEMPLATE_ANNOTATION, ""),
        deleting="deletionTimestamp" in metadata,
    )


def phase_by_conditions(job: Object, success: str, *, suspended: bool) -> tuple[JobPhase, str]:
    """Return where a job stands; `success` is its word for having succeeded.

    A job that was just admitted is `Suspended` until its controller has seen that, too.
    """
    conditions = {c["type"]: c.get("message") or "" for c in _conditions(job) if _holds(c)}
    for kind, phase in ((success, JobPhase.SUCCEEDED), ("Failed", JobPhase.FAILED)):
        if kind in conditions:
            return phase, conditions[kind]
    if suspended or "Suspended" in conditions:
        return JobPhase.QUEUED, "waits for its queue to admit it"
    return JobPhase.ACTIVE, ""


def _active_since(job: Object) -> float:
    """Return since when an attempt waits for its pod."""
    resumed = [
        c["lastTransitionTime"]
        for c in _conditions(job)
        if c["type"] == "Suspended" and not _holds(c) and c.get("lastTransitionTime")
    ]
    metadata = job["metadata"]
    made = metadata["creationTimestamp"]
    waiting_since = metadata.get("annotations", {}).get(WAITING_SINCE_ANNOTATION, made)
    return max(from_timestamp(text) for text in (waiting_since, *resumed))


def _conditions(job: Object) -> list[Object]:
    return (job.get("status") or {}).get("conditions") or []


def _holds(condition: Object) -> bool:
    return bool(condition["status"] == "True")
