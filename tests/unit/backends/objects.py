"""Jobs and pods as the API server sends them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpubench.api.enums import Backend
from gpubench.backends import BACKENDS, JobState, PodState, read_job, read_pod
from gpubench.lifecycle.timestamps import to_timestamp

CREATED = 1_000_000.0
RUN = "demo-abcdefghij-1"
LABELS = {
    "app.kubernetes.io/managed-by": "gpubench",
    "gpubench.io/benchmark": "demo",
    "gpubench.io/benchmark-uid": "uid-benchmark",
    "gpubench.io/run": RUN,
    "gpubench.io/attempt": "1",
}
REAL_PODS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("pod_statuses.json").read_text(encoding="utf-8")
)
"""Pods of a Kubernetes 1.34 with containerd 1.6, each brought into its state on purpose; fields
that gpubench does not read are left out."""


def job(
    conditions: dict[str, str] | None = None,
    *,
    created_at: float = CREATED,
    suspend: bool = False,
    uid: str = "uid-job",
    **metadata: Any,
) -> dict[str, Any]:
    """Return a PyTorchJob with conditions, by type and status."""
    return {
        "kind": "PyTorchJob",
        "metadata": {
            "name": f"{RUN}-1",
            "namespace": "lab",
            "uid": uid,
            "labels": LABELS,
            "creationTimestamp": to_timestamp(created_at),
            "ownerReferences": [{"kind": "GPUBenchmarkRun", "uid": "uid-run"}],
            **metadata,
        },
        "spec": {"runPolicy": {"suspend": suspend}},
        "status": {
            "conditions": [
                {
                    "type": kind,
                    "status": status,
                    "message": f"it is {kind}",
                    "lastTransitionTime": to_timestamp(created_at + 500),
                }
                for kind, status in (conditions or {}).items()
            ]
        },
    }


def job_state(conditions: dict[str, str] | None = None, **arguments: Any) -> JobState:
    """Return the state of a PyTorchJob with conditions, by type and status."""
    state = read_job(BACKENDS[Backend.PYTORCH_JOB], job(conditions, **arguments))
    assert state is not None
    return state


def pod(
    container: dict[str, Any] | None = None,
    *,
    phase: str = "Running",
    created_at: float = CREATED,
    uid: str = "uid-pod",
    **status: Any,
) -> dict[str, Any]:
    """Return a pod whose container is in a state."""
    statuses = [{"name": "pytorch", "state": container}] if container else []
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"{RUN}-1-master-0",
            "namespace": "lab",
            "uid": uid,
            "labels": LABELS,
            "creationTimestamp": to_timestamp(created_at),
            "ownerReferences": [{"kind": "PyTorchJob", "uid": "uid-job"}],
        },
        "spec": {"nodeName": "node-1"},
        "status": {"phase": phase, "containerStatuses": statuses, **status},
    }


def pod_state(container: dict[str, Any] | None = None, **arguments: Any) -> PodState:
    """Return the state of a pod whose container is in a state."""
    state = read_pod(pod(container, **arguments))
    assert state is not None
    return state


def ran(
    exit_code: int = 0,
    message: str = "",
    *,
    reason: str = "Completed",
    start: float = CREATED + 10,
    end: float = CREATED + 70,
) -> dict[str, Any]:
    """Return the state of a container that has ended."""
    ended = {
        "exitCode": exit_code,
        "reason": reason,
        "startedAt": to_timestamp(start),
        "finishedAt": to_timestamp(end),
    }
    return {"terminated": ended | ({"message": message} if message else {})}


RUNS_NOW = {"running": {"startedAt": to_timestamp(CREATED + 10)}}
