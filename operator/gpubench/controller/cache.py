"""What the API server holds of each benchmark, as its watches tell it.

Nothing here is a truth of its own: it is filled by a list at the start of a benchmark's daemon, by
watch events, and by the answers to our own writes. An older version of an object never replaces a
newer one, for a watch may lag behind our writes.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from gpubench.api.enums import Backend
from gpubench.api.run import GPUBenchmarkRunStatus
from gpubench.backends import (
    BACKENDS,
    BENCHMARK_UID_LABEL,
    RUN_LABEL,
    JobState,
    PodState,
    read_job,
    read_pod,
)
from gpubench.controller.capacity import NodeState, Usage, read_node
from gpubench.telemetry.run_metrics import INFO

Object = Mapping[str, Any]
BACKEND_OF_KIND = {BACKENDS[backend].kind: BACKENDS[backend] for backend in Backend}


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A GPUBenchmarkRun as the API server holds it."""

    name: str
    uid: str
    point_hash: str
    deleting: bool
    status: GPUBenchmarkRunStatus
    parameters: Mapping[str, str]
    """What `gpubench_run_info` tells."""


@dataclass
class BenchmarkCache:
    """A benchmark and its children."""

    body: Object | None = None
    runs: dict[str, RunRecord] = field(default_factory=dict)
    jobs: dict[str, dict[int, JobState]] = field(default_factory=lambda: defaultdict(dict))
    """By run and attempt."""
    pods: dict[str, dict[str, PodState]] = field(default_factory=lambda: defaultdict(dict))
    """By run and uid."""
    changed: set[str] = field(default_factory=set)
    """Runs to look at again."""
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    _versions: dict[str, int] = field(default_factory=dict)

    def put(self, item: Object) -> bool:
        """Take over a run, job or pod; tell whether it was news."""
        metadata = item["metadata"]
        run = metadata.get("labels", {}).get(RUN_LABEL)
        version = int(metadata["resourceVersion"])
        if run is None or self._versions.get(metadata["uid"], -1) >= version:
            return False
        self._versions[metadata["uid"]] = version
        self._store(item, run)
        self._touch(run)
        return True

    def remove(self, item: Object) -> None:
        """Forget a run, job or pod that was deleted."""
        metadata = item["metadata"]
        run = metadata.get("labels", {}).get(RUN_LABEL)
        self._versions.pop(metadata["uid"], None)
        if run is None:
            return
        if item["kind"] == "GPUBenchmarkRun":
            if run in self.runs and self.runs[run].uid == metadata["uid"]:
                del self.runs[run]
        elif item["kind"] == "Pod":
            self.pods[run].pop(metadata["uid"], None)
        else:
            for attempt, job in list(self.jobs[run].items()):
                if job.uid == metadata["uid"]:
                    del self.jobs[run][attempt]
        self._touch(run)

    def set_body(self, body: Object) -> None:
        """Take over the benchmark itself; only a new spec is a reason to wake."""
        old = self.body
        if old is not None:
            version = int(old["metadata"]["resourceVersion"])
            if int(body["metadata"]["resourceVersion"]) <= version:
                return
        self.body = body
        if old is None or old["metadata"]["generation"] != body["metadata"]["generation"]:
            self.wake.set()

    def set_status(self, run: str, status: GPUBenchmarkRunStatus, version: str) -> None:
        """Take over a run's status that was just written."""
        record = self.runs.get(run)
        if record is None:
            return
        self._versions[record.uid] = max(int(version), self._versions.get(record.uid, -1))
        self.runs[run] = replace(record, status=status)

    def forget_job(self, job: JobState) -> None:
        """Take note that a job is being deleted: it counts for nothing more."""
        if self.jobs[job.run].get(job.attempt) == job:
            del self.jobs[job.run][job.attempt]

    def set_own_status(self, body: Object) -> None:
        """Take over the benchmark as the API server answered to a write of its status."""
        assert self.body is not None
        old = int(self.body["metadata"]["resourceVersion"])
        if int(body["metadata"]["resourceVersion"]) > old:
            self.body = body

    def pod_of(self, job: JobState) -> PodState | None:
        """Return the pod that executes a job: the newest that is not on its way out."""
        of_attempt = [p for p in self.pods[job.run].values() if p.attempt == job.attempt]
        since_job = [p for p in of_attempt if p.created_at >= job.created_at]
        return max(since_job, key=lambda p: (not p.deleting, p.created_at), default=None)

    def _store(self, item: Object, run: str) -> None:
        if item["kind"] == "GPUBenchmarkRun":
            self.runs[run] = read_run(item)
        elif item["kind"] == "Pod":
            pod = read_pod(item)
            if pod is not None:
                self.pods[run][pod.uid] = pod
        else:
            job = read_job(BACKEND_OF_KIND[item["kind"]], item)
            if job is not None:
                self.jobs[run][job.attempt] = job

    def _touch(self, run: str) -> None:
        self.changed.add(run)
        self.wake.set()


def read_run(run: Object) -> RunRecord:
    """Return a run's record; a status that nobody but a hand can have broken counts as none."""
    try:
        status = GPUBenchmarkRunStatus.model_validate(run.get("status") or {})
    except ValidationError:
        status = GPUBenchmarkRunStatus()
    metadata = run["metadata"]
    return RunRecord(
        name=metadata["name"],
        uid=metadata["uid"],
        point_hash=run["spec"]["pointHash"],
        deleting="deletionTimestamp" in metadata,
        status=status,
        parameters=_parameters(run["spec"]),
    )


def _parameters(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of a run as labels of a metric."""
    parameters = spec["parameters"]
    ((kind, workload),) = parameters["workload"].items()
    found = {name: workload.get(to_camel(name)) for name in INFO}
    found |= {
        "workload": kind,
        "gpus": parameters["gpus"],
        "repetition": spec["repetition"],
        "dataset": (workload.get("dataset") or {}).get("name"),
    }
    return {name: _label(value) for name, value in found.items() if value is not None}


def _label(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class ClusterCache:
    """Every benchmark's part, the nodes, and what each benchmark uses of them."""

    def __init__(self) -> None:
        self._benchmarks: dict[str, BenchmarkCache] = {}
        self.nodes: dict[str, NodeState] = {}
        self.usage: dict[str, Usage] = {}

    def benchmark(self, uid: str) -> BenchmarkCache:
        """Return a benchmark's part, empty at first."""
        return self._benchmarks.setdefault(uid, BenchmarkCache())

    def benchmarks(self) -> Iterator[BenchmarkCache]:
        """Return every benchmark's part."""
        return iter(list(self._benchmarks.values()))

    def forget(self, uid: str) -> None:
        """Drop a benchmark that is gone; others may use what it used."""
        self._benchmarks.pop(uid, None)
        self.usage.pop(uid, None)
        self.wake_all()

    def wake_all(self) -> None:
        """Have every benchmark look again, for capacity has changed."""
        for cache in self._benchmarks.values():
            cache.wake.set()

    def take_event(self, kind: str | None, item: Object) -> None:
        """Take over a watch event of a run, job or pod; `kind` is DELETED or something else."""
        uid = item["metadata"].get("labels", {}).get(BENCHMARK_UID_LABEL, "")
        cache = self._benchmarks.get(uid)
        if kind == "DELETED":
            if cache is not None:
                cache.remove(item)
        elif cache is not None or "deletionTimestamp" not in item["metadata"]:
            self.benchmark(uid).put(item)

    def take_node(self, kind: str | None, node: Object) -> None:
        """Take over a watch event of a node; heartbeats wake nobody."""
        name = node["metadata"]["name"]
        before = self.nodes.get(name)
        if kind == "DELETED":
            self.nodes.pop(name, None)
        else:
            self.nodes[name] = read_node(node)
        if self.nodes.get(name) != before:
            self.wake_all()
