"""What happens on a cluster without the operator: job controllers, kubelets, people."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any

from gpubench.api.compact import CompactResult
from gpubench.backends import ATTEMPT_LABEL, RUN_LABEL
from gpubench.lifecycle.timestamps import to_timestamp
from tests.unit.controller.simulated_api import (
    BENCHMARK,
    JOB,
    POD,
    RUN,
    Clock,
    Object,
    SimulatedApi,
)
from tests.unit.lifecycle.results import bad_result, good_result

GOOD, BAD = good_result(), bad_result()
GPUS_PER_NODE = 4


class End(StrEnum):
    """How a pod ends."""

    SUCCESS = "Success"
    FAILURE = "Failure"
    OUT_OF_MEMORY = "OutOfMemory"
    EVICTED = "Evicted"
    NO_MESSAGE = "NoMessage"
    FORGED = "Forged"
    CUT = "Cut"
    BEFORE_IT_RAN = "BeforeItRan"


class SimulatedCluster:
    """Moves the objects of an API server as a cluster would."""

    def __init__(self, api: SimulatedApi, clock: Clock) -> None:
        self.api = api
        self._clock = clock

    def collect_garbage(self) -> None:
        """Delete what is owned by something that is gone; pods get time to end."""
        for kind, owner_kind in ((RUN, BENCHMARK), (JOB, RUN), (POD, JOB)):
            uids = {owner["metadata"]["uid"] for owner in self.api.of_kind(owner_kind)}
            for item in self.api.of_kind(kind):
                if owner_uid(item) not in uids:
                    self.delete(item)

    def delete(self, item: Object) -> None:
        """Delete an object as a user would; a pod is only asked to end."""
        kind, name = item["kind"], item["metadata"]["name"]
        if kind != POD:
            self.api.delete(kind, name)
        elif "deletionTimestamp" not in item["metadata"]:
            self.api.change(kind, name, metadata={"deletionTimestamp": self._now()})

    def remove_ended_pods(self) -> None:
        """Let kubelets take away the pods that were asked to end."""
        for pod in self.api.of_kind(POD):
            if "deletionTimestamp" in pod["metadata"]:
                self.api.delete(POD, pod["metadata"]["name"])

    def run_job_controllers(self) -> None:
        """Make the pods of jobs, also ones that were deleted, and tell jobs of their pods' ends."""
        for job in self.api.of_kind(JOB):
            if is_over(job):
                continue
            pod = self.api.objects.get((POD, pod_name(job)))
            if pod is None:
                self._make_pod(job)
            elif owner_uid(pod) == job["metadata"]["uid"] and is_over(pod):
                word = pod["status"]["phase"]
                status = {"conditions": [{"type": word, "status": "True", "message": ""}]}
                self.api.change(JOB, job["metadata"]["name"], status=status)

    def _make_pod(self, job: Object) -> None:
        template = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
        metadata = {
            "name": pod_name(job),
            "labels": template["metadata"]["labels"],
            "annotations": template["metadata"]["annotations"],
            "ownerReferences": [{"kind": JOB, "uid": job["metadata"]["uid"]}],
        }
        status = {"phase": "Pending"}
        self.api.create(
            {"kind": POD, "metadata": metadata, "spec": template["spec"], "status": status}
        )

    def start_pod(self, pod: Object) -> None:
        """Let a pod's container run."""
        state = {"running": {"startedAt": self._now()}}
        self._set_status(pod, "Running", state)

    def end_pod(self, pod: Object, end: End) -> None:
        """Let a pod end."""
        if end is End.BEFORE_IT_RAN:
            self._set_status(pod, "Failed", None)
            return
        message = _message(pod, end)
        ended: dict[str, Any] = {
            "exitCode": 0 if end in (End.SUCCESS, End.FORGED, End.CUT) else 1,
            "startedAt": _started_at(pod) or self._now(),
            "finishedAt": self._now(),
        }
        if message:
            ended["message"] = message
        if end is End.OUT_OF_MEMORY:
            ended |= {"exitCode": 137, "reason": "OOMKilled"}
        phase = "Failed" if ended["exitCode"] else "Succeeded"
        conditions = []
        if end is End.EVICTED:
            condition = {"type": "DisruptionTarget", "status": "True", "reason": "ByScheduler"}
            conditions.append(condition)
        self._set_status(pod, phase, {"terminated": ended}, conditions)

    def _set_status(
        self,
        pod: Object,
        phase: str,
        state: dict[str, Any] | None,
        conditions: list[dict[str, str]] | None = None,
    ) -> None:
        containers = [{"name": "pytorch", "state": state}] if state else []
        status = {"phase": phase, "containerStatuses": containers, "conditions": conditions or []}
        self.api.change(POD, pod["metadata"]["name"], status=status)

    def _now(self) -> str:
        return to_timestamp(float(int(self._clock.now)))


def owner_uid(item: Object) -> str:
    """Return the uid of an object's owner."""
    return str(item["metadata"]["ownerReferences"][0]["uid"])


def pod_name(job: Object) -> str:
    """Return the name that a job's pod gets."""
    return f"{job['metadata']['name']}-master-0"


def is_over(item: Object) -> bool:
    """Tell whether a job or a pod has ended."""
    status = item.get("status") or {}
    words = [condition["type"] for condition in status.get("conditions") or []]
    return bool({status.get("phase"), *words} & {"Succeeded", "Failed"})


def gpus_of(job: Object) -> int:
    """Return the GPUs that a job asks for."""
    template = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    return int(template["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])


def node(name: str) -> Object:
    """Return a node with GPUs."""
    return {
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {},
        "status": {
            "allocatable": {"nvidia.com/gpu": str(GPUS_PER_NODE)},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _started_at(pod: Object) -> str | None:
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    running = containers[0]["state"].get("running") if containers else None
    return running["startedAt"] if running else None


def _message(pod: Object, end: End) -> str:
    if end in (End.OUT_OF_MEMORY, End.NO_MESSAGE, End.EVICTED):
        return ""
    result = _named(BAD if end is End.FAILURE else GOOD, pod)
    if end is End.FORGED:
        result = result.model_copy(update={"run": "another-run"})
    message = result.to_message()
    return message[:-20] if end is End.CUT else message


def _named(result: CompactResult, pod: Object) -> CompactResult:
    """Return a result of this pod: no two have the same digest."""
    labels = pod["metadata"]["labels"]
    run = labels[RUN_LABEL]
    digest = hashlib.sha256(pod["metadata"]["uid"].encode())
    return result.model_copy(
        update={
            "run": run,
            "attempt": int(labels[ATTEMPT_LABEL]),
            "point_hash": run.rsplit("-", 2)[1],
            "digest": digest.hexdigest(),
        }
    )
