"""Plays training-operator, scheduler and kubelet: ends each job at once, with a true result.

A process of its own. Of each attempt it writes what a cluster cannot do without: the pod, the
pod's end with its termination message, the job's condition, and once the job is deleted the pod's
deletion. A real cluster writes more (bindings, Created and Running conditions, a service).
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import IO

from gpubench.api.compact import CompactResult, compact_result
from gpubench.api.run_spec import RunSpec
from gpubench.backends.labels import ATTEMPT_LABEL, RUN_LABEL
from gpubench.backends.pod_template import CONTAINER, RUN_SPEC_ANNOTATION
from tests.bench.operator_scale.api import (
    JOBS,
    MERGE,
    NAMESPACE,
    OURS,
    PODS,
    Api,
    Object,
    RefusedError,
)
from tests.bench.operator_scale.control_plane import ControlPlane
from tests.unit.results import succeeded

NODE = "bench"
GONE = (404, 409)


class Executor:
    """Executes every PyTorchJob of gpubench's that it sees, each once."""

    def __init__(self, api: Api, ends: IO[str]) -> None:
        self._api = api
        self._ends = ends
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        jobs, version = await self._api.list(JOBS, OURS)
        for job in jobs:
            self._begin(job)
        async for event in self._api.watch(JOBS, version, OURS):
            if event["type"] == "ADDED":
                self._begin(event["object"])
            elif event["type"] == "DELETED":
                self._spawn(self._delete_pod(event["object"]))

    def _begin(self, job: Object) -> None:
        self._spawn(self._execute(job))

    def _spawn(self, work: object) -> None:
        assert asyncio.iscoroutine(work)
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, RefusedError) and error.status in GONE:
                return
            print(f"executor: {error!r}", file=sys.stderr, flush=True)

    async def _execute(self, job: Object) -> None:
        pod = make_pod(job)
        status = ended_pod_status(pod)
        name = pod["metadata"]["name"]
        await self._api.request("POST", PODS, pod)
        ended_at = time.time()
        await self._api.request("PATCH", f"{PODS}/{name}/status", {"status": status}, MERGE)
        self._report(job, ended_at)
        path = f"{JOBS}/{job['metadata']['name']}/status"
        await self._api.request("PATCH", path, {"status": ended_job_status()}, MERGE)

    def _report(self, job: Object, ended_at: float) -> None:
        metadata = job["metadata"]
        end = {
            "run": metadata["labels"][RUN_LABEL],
            "attempt": metadata["labels"][ATTEMPT_LABEL],
            "job": metadata["uid"],
            "ended_at": ended_at,
        }
        print(json.dumps(end), file=self._ends, flush=True)

    async def _delete_pod(self, job: Object) -> None:
        path = f"{PODS}/{job['metadata']['name']}-master-0"
        await self._api.request("DELETE", path, {"gracePeriodSeconds": 0})


def make_pod(job: Object) -> Object:
    """Return the pod that training-operator makes of a job, bound to a node already."""
    metadata = job["metadata"]
    template = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    owner = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {
        "training.kubeflow.org/job-name": metadata["name"],
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/replica-index": "0",
        "training.kubeflow.org/replica-type": "master",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{metadata['name']}-master-0",
            "namespace": NAMESPACE,
            "labels": {**template["metadata"]["labels"], **labels},
            "annotations": template["metadata"]["annotations"],
            "ownerReferences": [owner],
        },
        "spec": {**template["spec"], "restartPolicy": "Never", "nodeName": NODE},
    }


def ended_pod_status(pod: Object) -> Object:
    """Return what a kubelet says of a pod whose container has handed over its result."""
    spec = RunSpec.model_validate_json(pod["metadata"]["annotations"][RUN_SPEC_ANNOTATION])
    now = _now()
    terminated = {
        "exitCode": 0,
        "reason": "Completed",
        "message": result_of(spec).to_message(),
        "startedAt": now,
        "finishedAt": now,
    }
    container = {
        "name": CONTAINER,
        "image": "bench",
        "imageID": "bench",
        "ready": False,
        "restartCount": 0,
        "state": {"terminated": terminated},
    }
    return {"phase": "Succeeded", "startTime": now, "containerStatuses": [container]}


def result_of(spec: RunSpec) -> CompactResult:
    """Return the compact result of an attempt that succeeded."""
    return compact_result(succeeded(spec), digest="0" * 64)


def ended_job_status() -> Object:
    """Return what training-operator says of a job whose pod has succeeded."""
    now = _now()
    condition = {
        "type": "Succeeded",
        "status": "True",
        "reason": "PyTorchJobSucceeded",
        "message": "PyTorchJob is successfully completed.",
        "lastTransitionTime": now,
        "lastUpdateTime": now,
    }
    return {
        "conditions": [condition],
        "completionTime": now,
        "replicaStatuses": {"Master": {"succeeded": 1}},
    }


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


async def main(plane: ControlPlane, ends: Path) -> None:
    """Execute jobs until killed; `ends` gets a JSON line for each that ended."""
    with ends.open("a", encoding="utf-8") as file:
        async with Api.connect(plane) as api:
            await Executor(api, file).run()


if __name__ == "__main__":
    folder, address, token, ends = sys.argv[1:]
    asyncio.run(main(ControlPlane(Path(folder), address, token), Path(ends)))
