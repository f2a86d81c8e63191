"""What the API server holds of each benchmark, as its watches tell it.

Nothing here is a truth of its own: it is filled by a list at the start of a benchmark's daemon, by
watch events, and by the answers to our own writes. An older version of an object never replaces a
newer one, for a watch may lag behind our writes.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from gpubench.api.enums import AttemptState, Backend
from gpubench.api.run import GPUBenchmarkRunStatus
from gpubench.api.run_telemetry import RunTelemetry
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
from gpubench.lifecycle.observed import LIVE_STATES
from gpubench.sweep.hashing import POINT_HASH_LENGTH, canonical_json, text_hash
from gpubench.telemetry.run_metrics import INFO, POINT, SCALING_GROUP

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


class Generations:
    """Uids of what is gone, forgotten in turn: each is known for one turn at least."""

    def __init__(self) -> None:
        self._young: set[str] = set()
        self._old: set[str] = set()

    def __contains__(self, uid: str) -> bool:
        return uid in self._young or uid in self._old

    def add(self, uid: str) -> None:
        """Take note of a uid."""
        self._young.add(uid)

    def turn(self) -> None:
        """Forget those that were added before the last turn."""
        self._young, self._old = set(), self._young


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
    _gone: Generations = field(default_factory=Generations)

    def put(self, item: Object) -> bool:
        """Take over a run, job or pod; tell whether it was news."""
        metadata = item["metadata"]
        run, uid = metadata.get("labels", {}).get(RUN_LABEL), metadata["uid"]
        version = int(metadata["resourceVersion"])
        if run is None or uid in self._gone or self._versions.get(uid, -1) >= version:
            return False
        self._versions[uid] = version
        self._store(item, run)
        self._touch(run)
        return True

    def remove(self, item: Object) -> None:
        """Forget a run, job or pod that was deleted.

        A pod's end may be told together with its deletion: what it handed over is kept.
        """
        run = item["metadata"].get("labels", {}).get(RUN_LABEL, "")
        pod = read_pod(item) if item["kind"] == "Pod" else None
        if pod is not None and pod.state is AttemptState.SUCCEEDED and not self._is_recorded(pod):
            self.put(item)
        else:
            self._forget(item["kind"], item["metadata"]["uid"], run)

    def uids(self, kind: str) -> dict[str, str]:
        """Return the uids of all objects of a kind that are known, each with its run."""
        if kind == "GPUBenchmarkRun":
            return {record.uid: name for name, record in self.runs.items()}
        if kind == "Pod":
            return {uid: run for run, pods in self.pods.items() for uid in pods}
        return {
            job.uid: run
            for run, jobs in self.jobs.items()
            for job in jobs.values()
            if job.kind == kind
        }

    def forget_all(self, kind: str, gone: Mapping[str, str]) -> None:
        """Forget objects that are gone without a word, by uid each with its run."""
        for uid, run in gone.items():
            self._forget(kind, uid, run)

    def forget_unlisted(self, kind: str, listed: Set[str], version: int) -> None:
        """Forget objects of a kind that a list of this version would have if they were there."""
        unlisted = {uid: run for uid, run in self.uids(kind).items() if uid not in listed}
        gone = {u: run for u, run in unlisted.items() if self._versions.get(u, 0) <= version}
        self.forget_all(kind, gone)

    def forget_the_long_gone(self) -> None:
        """Make room: what was gone before the last call will not be told of again."""
        self._gone.turn()

    def _forget(self, kind: str, uid: str, run: str) -> None:
        self._versions.pop(uid, None)
        self._gone.add(uid)
        if kind == "GPUBenchmarkRun":
            if run in self.runs and self.runs[run].uid == uid:
                del self.runs[run]
        elif kind == "Pod":
            self.pods[run].pop(uid, None)
        else:
            for attempt, job in list(self.jobs[run].items()):
                if job.uid == uid:
                    del self.jobs[run][attempt]
        self._touch(run)

    def _is_recorded(self, pod: PodState) -> bool:
        record = self.runs.get(pod.run)
        return record is not None and any(
            attempt.number == pod.attempt and attempt.state not in LIVE_STATES
            for attempt in record.status.attempts
        )

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

    def is_at_home_in(self, namespace: str) -> bool:
        """Tell whether the benchmark is known, and of this namespace."""
        return self.body is not None and self.body["metadata"]["namespace"] == namespace

    def set_status(self, run: str, status: GPUBenchmarkRunStatus, version: str) -> None:
        """Take over a run's status that was just written."""
        record = self.runs.get(run)
        if record is None:
            return
        self._versions[record.uid] = max(int(version), self._versions.get(record.uid, -1))
        self.runs[run] = replace(record, status=status)

    def forget_job(self, job: JobState) -> None:
        """Take note that a job is being deleted: it counts for nothing more."""
        known = self.jobs[job.run].get(job.attempt)
        if known is not None and known.uid == job.uid:
            del self.jobs[job.run][job.attempt]
        self._gone.add(job.uid)

    def set_own_status(self, body: Object) -> None:
        """Take over the benchmark as the API server answered to a write of its status."""
        assert self.body is not None
        if body["metadata"]["uid"] == self.body["metadata"]["uid"]:
            self.set_body(body)

    def pod_of(self, job: JobState) -> PodState | None:
        """Return the pod that executes a job: one that has succeeded, else the newest."""
        is_owner = BACKEND_OF_KIND[job.kind].owns_pods
        found = [
            pod
            for pod in self.pods[job.run].values()
            if pod.attempt == job.attempt
            and (pod.owner_uid == job.uid if is_owner else pod.created_at >= job.created_at)
        ]
        return max(found, key=_rank, default=None)

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


def _rank(pod: PodState) -> tuple[bool, bool, float]:
    return pod.state is AttemptState.SUCCEEDED, not pod.deleting, pod.created_at


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
        POINT: spec["pointHash"],
        SCALING_GROUP: text_hash(canonical_json(workload), POINT_HASH_LENGTH),
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
        self.telemetry: dict[tuple[str, int], RunTelemetry] = {}
        """What DCGM saw of attempts, by uid of the run and number."""

    def benchmark(self, uid: str) -> BenchmarkCache:
        """Return a benchmark's part, empty at first."""
        return self._benchmarks.setdefault(uid, BenchmarkCache())

    def benchmarks(self) -> Iterator[BenchmarkCache]:
        """Return every benchmark's part."""
        return iter(list(self._benchmarks.values()))

    def knows_usage_beside(self, uid: str) -> bool:
        """Tell whether every other benchmark has told what it uses."""
        others = (u for u, cache in self._benchmarks.items() if cache.body is not None and u != uid)
        return all(other in self.usage for other in others)

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
        metadata = item["metadata"]
        cache = self._benchmarks.get(metadata.get("labels", {}).get(BENCHMARK_UID_LABEL, ""))
        # A benchmark whose daemon begins later lists what it has; labels can be forged from other
        # namespaces.
        if cache is None or not cache.is_at_home_in(metadata["namespace"]):
            return
        if kind == "DELETED":
            cache.remove(item)
        else:
            cache.put(item)

    def forget_unlisted(
        self, kind: str, namespace: str | None, listed: Set[str], version: int
    ) -> None:
        """Forget objects of a kind that were not on a list of this version."""
        for cache in self._benchmarks.values():
            if namespace is None or cache.is_at_home_in(namespace):
                cache.forget_unlisted(kind, listed, version)

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
