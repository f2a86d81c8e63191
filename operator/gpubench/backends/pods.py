"""What a pod's status says about the attempt that it executes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpubench.api.enums import AttemptState, FailureClass
from gpubench.backends.labels import ATTEMPT_LABEL, BENCHMARK_UID_LABEL, RUN_LABEL
from gpubench.backends.pod_template import CONTAINER
from gpubench.backends.trainjob import TRAINER_CONTAINER
from gpubench.lifecycle.timestamps import from_timestamp

# https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
NODE_LOSS_REASONS = frozenset({"DeletionByTaintManager", "DeletionByPodGC"})
BLAMELESS_REASONS = {
    "NodeLost": FailureClass.NODE_LOST,
    "Preempting": FailureClass.PREEMPTED,
    "NodeShutdown": FailureClass.PREEMPTED,
    "Shutdown": FailureClass.PREEMPTED,
    "Terminated": FailureClass.PREEMPTED,
}
CONTAINERS = (CONTAINER, TRAINER_CONTAINER)
KILLED_BY_SIGNAL = 128
EXIT_NOT_DELIVERED = 3
"""Exit code of a supervisor that could not write to the results volume."""


@dataclass(frozen=True, slots=True)
class PodState:
    """An attempt's pod. Times are seconds since the epoch."""

    run: str
    attempt: int
    benchmark_uid: str
    namespace: str
    name: str
    uid: str
    owner_uid: str
    """Uid of what made it, the job or something between them; empty where nothing did."""
    state: AttemptState
    created_at: float
    started_at: float | None
    ended_at: float | None
    node: str | None
    deleting: bool
    reason: str
    """Why it waits, in a word of Kubernetes such as ImagePullBackOff; empty where unknown."""
    message: str
    """Why it waits or failed, in a sentence."""
    failure: FailureClass | None
    """How it failed, going by the pod alone."""
    termination_message: str
    """What the supervisor handed over."""


def read_pod(pod: Mapping[str, Any]) -> PodState | None:
    """Return a pod's state, None if it is not one of ours."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    labels = metadata.get("labels", {})
    run, attempt = labels.get(RUN_LABEL), labels.get(ATTEMPT_LABEL, "")
    if not run or not attempt.isdecimal():
        return None
    container = _container_state(status)
    terminated = container.get("terminated")
    state = _attempt_state(status, container)
    reason, message = _waiting(status, container)
    failure = None
    if state is AttemptState.FAILED:
        failure, message = _failure(status, terminated)
    return PodState(
        run=run,
        attempt=int(attempt),
        benchmark_uid=labels.get(BENCHMARK_UID_LABEL, ""),
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        owner_uid=next((o["uid"] for o in metadata.get("ownerReferences", [])), ""),
        state=state,
        created_at=from_timestamp(metadata["creationTimestamp"]),
        started_at=_moment((container.get("running") or terminated or {}).get("startedAt")),
        ended_at=_moment((terminated or {}).get("finishedAt")),
        node=pod["spec"].get("nodeName"),
        deleting="deletionTimestamp" in metadata,
        reason=reason,
        message=message,
        failure=failure,
        termination_message=(terminated or {}).get("message") or "",
    )


def _container_state(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the state of the container that trains; a cluster may put others beside it."""
    statuses = status.get("containerStatuses") or []
    ours = [each for each in statuses if each["name"] in CONTAINERS] or statuses
    state: Mapping[str, Any] = (ours[0].get("state") or {}) if ours else {}
    return state


def _attempt_state(status: Mapping[str, Any], container: Mapping[str, Any]) -> AttemptState:
    if status.get("phase") == "Failed":
        return AttemptState.FAILED
    if status.get("phase") == "Succeeded":
        return AttemptState.SUCCEEDED
    if "terminated" in container:
        succeeded = container["terminated"].get("exitCode") == 0
        return AttemptState.SUCCEEDED if succeeded else AttemptState.FAILED
    return AttemptState.RUNNING if "running" in container else AttemptState.PENDING


def _waiting(status: Mapping[str, Any], container: Mapping[str, Any]) -> tuple[str, str]:
    """Return why a pod waits: its container's reason, else the scheduler's."""
    waiting = container.get("waiting") or {}
    if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
        return waiting["reason"], waiting.get("message") or ""
    scheduled = _condition(status, "PodScheduled")
    if scheduled and scheduled["status"] == "False":
        return scheduled.get("reason") or "", scheduled.get("message") or ""
    return waiting.get("reason") or "", waiting.get("message") or ""


def _failure(
    status: Mapping[str, Any], terminated: Mapping[str, Any] | None
) -> tuple[FailureClass, str]:
    """Return how a pod failed that handed nothing over."""
    reason, message = status.get("reason") or "", status.get("message") or "no message"
    disruption = _condition(status, "DisruptionTarget")
    if disruption and disruption["status"] == "True":
        lost = disruption.get("reason") in NODE_LOSS_REASONS
        message = f"{disruption.get('reason')}: {disruption.get('message') or message}"
        return FailureClass.NODE_LOST if lost else FailureClass.PREEMPTED, message
    if reason == "Evicted":
        # For pressure on the node nobody is to blame; a pod over its own limits will be again.
        by_node = message.startswith("The node ")
        failure = FailureClass.PREEMPTED if by_node else FailureClass.ENVIRONMENT
        return failure, f"{reason}: {message}"
    if reason in BLAMELESS_REASONS:
        return BLAMELESS_REASONS[reason], f"{reason}: {message}"
    if terminated is None:
        reason = reason or "the pod failed before its container ran"
        return FailureClass.ENVIRONMENT, f"{reason}: {message}"
    return _container_failure(terminated)


def _container_failure(terminated: Mapping[str, Any]) -> tuple[FailureClass, str]:
    code, reason = terminated.get("exitCode", 0), terminated.get("reason")
    if reason == "OOMKilled":
        return FailureClass.OUT_OF_MEMORY, (
            "killed by the kernel for memory; give more (execution.resources.memory)"
        )
    if reason in ("StartError", "ContainerCannotRun"):
        return FailureClass.ENVIRONMENT, terminated.get("message") or "the container did not start"
    if code == EXIT_NOT_DELIVERED:
        return FailureClass.ENVIRONMENT, (
            "the result could not be written to the results volume; the pod's log says why"
        )
    if code > KILLED_BY_SIGNAL:
        return FailureClass.KILLED, f"killed by signal {code - KILLED_BY_SIGNAL}"
    return FailureClass.RESULT_MISSING, f"ended with exit code {code} and handed over no result"


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any] | None:
    return next((c for c in status.get("conditions") or [] if c["type"] == kind), None)


def _moment(text: str | None) -> float | None:
    return from_timestamp(text) if text else None
