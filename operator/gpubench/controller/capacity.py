"""What nodes offer, what benchmarks use of it, and what is left for one of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpubench.api.enums import Isolation
from gpubench.backends.pod_template import cores_of
from gpubench.lifecycle import Capacity

CPU = "cpu"
UNKNOWN_NODE_SLOTS = 8
"""GPUs of a node where nodes may not be read: as many as the largest common machines have."""


@dataclass(frozen=True)
class NodeState:
    """A node's room for runs."""

    allocatable: Mapping[str, str]
    labels: Mapping[str, str]
    usable: bool
    """Whether it is ready and takes new pods."""

    def slots(self, resource: str) -> int:
        """Return how many GPUs, or processor cores, it offers."""
        quantity = self.allocatable.get(resource, "0")
        return int(cores_of(quantity)) if resource == CPU else int(quantity)


@dataclass(frozen=True)
class Usage:
    """What the live runs of a benchmark take."""

    resource: str
    slots: int
    runs: int
    exclusive: bool


NOTHING = Usage(resource="", slots=0, runs=0, exclusive=False)


@dataclass(frozen=True)
class Demand:
    """What a benchmark's runs need of a node."""

    resource: str
    isolation: Isolation
    node_selector: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Room:
    """What a benchmark may use now, and the largest run that any node could hold."""

    capacity: Capacity
    largest_run: int | None
    """None where nodes may not be read."""


def read_node(node: Mapping[str, Any]) -> NodeState:
    """Return what a node offers."""
    status = node.get("status") or {}
    conditions = {c["type"]: c["status"] for c in status.get("conditions") or []}
    return NodeState(
        allocatable=dict(status.get("allocatable") or {}),
        labels=dict(node["metadata"].get("labels") or {}),
        usable=conditions.get("Ready") == "True" and not node["spec"].get("unschedulable", False),
    )


def room_for(
    demand: Demand,
    nodes: Iterable[NodeState],
    used_by_others: Iterable[Usage],
    max_slots: int | None,
    *,
    nodes_are_known: bool,
) -> Room:
    """Return what is left for a benchmark beside what all others use.

    Pods of other users are not counted: the scheduler lets ours wait for them.
    """
    others = [usage for usage in used_by_others if usage.resource == demand.resource]
    used = sum(usage.slots for usage in others)
    if not nodes_are_known:
        free = (max_slots if max_slots is not None else UNKNOWN_NODE_SLOTS) - used
        return Room(Capacity(gpus=max(free, 0), nodes=1), largest_run=None)
    offers = [
        node.slots(demand.resource)
        for node in nodes
        if node.usable and demand.node_selector.items() <= node.labels.items()
    ]
    offers = [slots for slots in offers if slots > 0]
    total = sum(offers) if max_slots is None else min(sum(offers), max_slots)
    taken_nodes = sum(usage.runs for usage in others if usage.exclusive)
    capacity = Capacity(gpus=max(total - used, 0), nodes=max(len(offers) - taken_nodes, 0))
    return Room(capacity, largest_run=max(offers, default=0))
