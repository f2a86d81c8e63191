"""An API server in memory, as far as the operator uses it: versions, conflicts, lists, watches."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from gpubench.controller.cache import ClusterCache
from gpubench.controller.client import (
    CONFLICT,
    JOB_TYPES,
    NOT_FOUND,
    ApiError,
    KubernetesClient,
    ResourceType,
)
from gpubench.lifecycle.timestamps import to_timestamp

NAMESPACE = "lab"
BENCHMARK, RUN, JOB, POD = "GPUBenchmark", "GPUBenchmarkRun", "PyTorchJob", "Pod"
WATCHED = (BENCHMARK, RUN, JOB, POD)
NOT_INSTALLED = ("Job", "TrainJob")
"""Kinds of jobs that this cluster does not have."""

Object = dict[str, Any]
Answer = TypeVar("Answer")


class Clock:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def time(self) -> float:
        """Return the time that it is in the simulation."""
        return self.now


class SimulatedApi:
    """Objects of one namespace, and a queue of events for each watch."""

    def __init__(self, clock: Clock) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self.writes: list[str] = []
        self.watches: list[Watches] = []
        self.before_create: Callable[[Object], None] = lambda _: None
        self._clock = clock
        self._numbers = itertools.count(1)

    def of_kind(self, kind: str) -> list[Object]:
        """Return all objects of a kind by name."""
        return [item for (k, _), item in sorted(self.objects.items()) if k == kind]

    def create(self, manifest: Object) -> Object:
        """Make an object."""
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        if (kind, name) in self.objects:
            raise ApiError(CONFLICT, f'{kind} "{name}" already exists')
        self.before_create(manifest)
        metadata = {
            **manifest["metadata"],
            "namespace": NAMESPACE,
            "uid": f"uid-{next(self._numbers)}",
            "generation": 1,
            "creationTimestamp": to_timestamp(float(int(self._clock.now))),
        }
        return self._store({**manifest, "metadata": metadata}, "ADDED")

    def get(self, kind: str, name: str) -> Object:
        """Return an object."""
        try:
            return self.objects[kind, name]
        except KeyError:
            raise ApiError(NOT_FOUND, f'{kind} "{name}" not found') from None

    def delete(self, kind: str, name: str, uid: str | None = None) -> None:
        """Delete an object at once; what it owns is left to the garbage collector."""
        item = self.get(kind, name)
        if uid is not None and item["metadata"]["uid"] != uid:
            raise ApiError(CONFLICT, "the precondition failed")
        del self.objects[kind, name]
        self._tell("DELETED", self._with_version(item))

    def change(self, kind: str, name: str, **parts: Any) -> Object:
        """Change parts of an object; metadata is merged, a new spec is a new generation."""
        old = self.get(kind, name)
        metadata = {**old["metadata"], **parts.pop("metadata", {})}
        new = {**old, **parts, "metadata": metadata}
        if new == old:
            return old
        if "spec" in parts:
            metadata["generation"] += 1
        return self._store(new, "MODIFIED")

    def _store(self, item: Object, event: str) -> Object:
        stored = self._with_version(item)
        self.objects[stored["kind"], stored["metadata"]["name"]] = stored
        self._tell(event, stored)
        return stored

    def _with_version(self, item: Object) -> Object:
        version = str(next(self._numbers))
        return {**item, "metadata": {**item["metadata"], "resourceVersion": version}}

    def _tell(self, event: str, item: Object) -> None:
        for watches in self.watches:
            watches.queues.get(item["kind"], deque()).append((event, item))


class Watches:
    """The operator's watches, each as late as it likes."""

    def __init__(self, api: SimulatedApi, cluster: ClusterCache) -> None:
        self._server = api
        self._cluster = cluster
        self.queues: dict[str, deque[tuple[str | None, Object]]] = {}
        self.benchmarks: dict[str, None] = {}
        """Uids of benchmarks in the order in which they were told of."""
        self.gone: set[str] = set()
        """Uids of benchmarks that were deleted."""
        for kind in WATCHED:
            self.begin(kind)

    def begin(self, kind: str) -> None:
        """Begin anew with a list: what was to be told in between is never told."""
        self.queues[kind] = deque((None, item) for item in self._server.of_kind(kind))

    def deliver(self, kind: str, count: int = 1) -> None:
        """Hand over the next events of a kind."""
        for _ in range(min(count, len(self.queues[kind]))):
            event, item = self.queues[kind].popleft()
            if kind != BENCHMARK:
                self._cluster.take_event(event, item)
            elif event == "DELETED":
                self.gone.add(item["metadata"]["uid"])
            else:
                self._cluster.benchmark(item["metadata"]["uid"]).set_body(item)
                self.benchmarks.setdefault(item["metadata"]["uid"])

    def deliver_all(self) -> None:
        """Hand over everything."""
        for kind in WATCHED:
            self.deliver(kind, len(self.queues[kind]))


class Fault(StrEnum):
    """What may happen to a request."""

    NONE = "None"
    UNREACHABLE = "Unreachable"
    FORBIDDEN = "Forbidden"
    ANSWER_LOST = "AnswerLost"
    DEATH_BEFORE = "DeathBefore"
    DEATH_AFTER = "DeathAfter"


class Death(BaseException):
    """The operator was killed."""


@dataclass
class Script:
    """What happens during one reconciliation: a fault at a request, and events at each."""

    fault: Fault = Fault.NONE
    at: int = 0
    deliveries: deque[str] = field(default_factory=deque)


class SimulatedClient(KubernetesClient):
    """The operator's client, for an API server that fails as a script says."""

    def __init__(self, api: SimulatedApi, watches: Watches) -> None:
        self._server = api
        self._watches = watches
        self.is_dead = False
        self.follow(Script())

    def follow(self, script: Script) -> None:
        """Follow a script from here on."""
        self._script, self._requests = script, 0

    async def get(
        self,
        kind: ResourceType,
        namespace: str,  # noqa: ARG002 - there is one
        name: str,
    ) -> Object | None:
        """Return an object, None where there is none."""
        try:
            return await self._do(lambda: self._server.get(kind.kind, name))
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    async def list(
        self,
        kind: ResourceType,
        namespace: str | None,  # noqa: ARG002 - there is one
        **selectors: str,
    ) -> AsyncIterator[Object]:
        """Yield the objects that a selector leaves."""
        if kind.kind == "Event":
            return
        if kind.kind in NOT_INSTALLED:
            raise ApiError(NOT_FOUND, "the server could not find the requested resource")
        wanted = dict(part.split("=") for part in selectors["label_selector"].split(","))
        page = await self._do(lambda: list(_selected(self._server.of_kind(kind.kind), wanted)))
        for item in page:
            yield item

    async def create(self, kind: ResourceType, manifest: Object) -> Object:
        """Make an object; events of the operator's own are not looked at."""
        if kind.kind == "Event":
            return manifest
        assert kind.kind == manifest["kind"]
        assert kind.kind not in NOT_INSTALLED
        return await self._write(f"create {kind.kind}", lambda: self._server.create(manifest))

    async def delete(
        self,
        kind: ResourceType,
        namespace: str,  # noqa: ARG002 - there is one
        name: str,
        uid: str | None = None,
    ) -> None:
        """Delete an object; one that is gone, or is another one by now, is fine."""
        try:
            delete = lambda: self._server.delete(kind.kind, name, uid)  # noqa: E731 - as the others
            await self._write(f"delete {kind.kind}", delete)
        except ApiError as error:
            if error.status not in (NOT_FOUND, CONFLICT):
                raise

    async def apply_status(
        self,
        kind: ResourceType,
        namespace: str,  # noqa: ARG002 - there is one
        name: str,
        status: Mapping[str, Any],
    ) -> Object:
        """Make an object's status this one."""
        apply = lambda: self._server.change(kind.kind, name, status=dict(status))  # noqa: E731
        return await self._write(f"apply {kind.kind}", apply)

    async def _write(self, what: str, execute: Callable[[], Answer]) -> Answer:
        self._server.writes.append(what)
        return await self._do(execute)

    async def _do(self, execute: Callable[[], Answer]) -> Answer:
        await asyncio.sleep(0)
        fault = self._next_fault()
        if self._script.deliveries:
            self._watches.deliver(self._script.deliveries.popleft(), 100)
        if fault is Fault.DEATH_BEFORE:
            self.is_dead = True
        if self.is_dead:
            raise Death
        if fault in (Fault.UNREACHABLE, Fault.FORBIDDEN):
            raise ApiError(403 if fault is Fault.FORBIDDEN else 0, "simulated")
        answer = execute()
        if fault is Fault.DEATH_AFTER:
            self.is_dead = True
            raise Death
        if fault is Fault.ANSWER_LOST:
            raise ApiError(0, "simulated")
        await asyncio.sleep(0)
        return answer

    def _next_fault(self) -> Fault:
        self._requests += 1
        return self._script.fault if self._requests == self._script.at else Fault.NONE


def _selected(items: Iterable[Object], labels: Mapping[str, str]) -> Iterable[Object]:
    return (i for i in items if labels.items() <= i["metadata"].get("labels", {}).items())


assert set(NOT_INSTALLED) < set(JOB_TYPES)
