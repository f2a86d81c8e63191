"""What is left for a benchmark beside all others."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.api.enums import Isolation
from gpubench.controller.capacity import CPU, Demand, NodeState, Usage, read_node, room_for
from gpubench.lifecycle import Capacity

GPU = "nvidia.com/gpu"
SHARED = Demand(GPU, Isolation.SHARED)


def node(gpus: str | None = "4", *, ready: str = "True", **spec: Any) -> NodeState:
    allocatable = {"cpu": "3920m"} | ({GPU: gpus} if gpus is not None else {})
    return read_node(
        {
            "metadata": {"name": "n", "labels": {"zone": "a"}},
            "spec": spec,
            "status": {
                "allocatable": allocatable,
                "conditions": [{"type": "Ready", "status": ready}],
            },
        }
    )


def usage(slots: int, runs: int = 1, *, resource: str = GPU, exclusive: bool = False) -> Usage:
    return Usage(resource, slots, runs, exclusive)


def capacity(
    nodes: list[NodeState],
    others: list[Usage] | None = None,
    *,
    demand: Demand = SHARED,
    most: int | None = None,
    known: bool = True,
) -> Capacity:
    return room_for(demand, nodes, others or [], most, nodes_are_known=known).capacity


@pytest.mark.parametrize(
    ("nodes", "gpus", "count"),
    [
        ([], 0, 0),
        ([node()], 4, 1),
        ([node("8"), node()], 12, 2),
        ([node(), node(None)], 4, 1),
        ([node(), node("0")], 4, 1),
        ([node(), node(ready="False")], 4, 1),
        ([node(), node(ready="Unknown")], 4, 1),
        ([node(), node(unschedulable=True)], 4, 1),
    ],
)
def test_nodes_that_can_run_something(nodes: list[NodeState], gpus: int, count: int) -> None:
    assert capacity(nodes) == Capacity(gpus, count)


@pytest.mark.parametrize(
    ("others", "gpus", "count"),
    [
        ([usage(3)], 5, 2),
        ([usage(3), usage(5)], 0, 2),
        ([usage(20)], 0, 2),
        ([usage(8, resource=CPU)], 8, 2),
        ([usage(2, runs=1, exclusive=True)], 6, 1),
        ([usage(6, runs=3, exclusive=True)], 2, 0),
    ],
)
def test_what_others_use_is_not_left(others: list[Usage], gpus: int, count: int) -> None:
    assert capacity([node(), node()], others) == Capacity(gpus, count)


def test_operator_may_be_allowed_less_than_there_is() -> None:
    assert capacity([node("8")], [usage(1)], most=3).gpus == 2
    assert capacity([node("8")], most=100).gpus == 8


def test_only_nodes_that_placement_asks_for_count() -> None:
    demand = Demand(GPU, Isolation.SHARED, {"zone": "a"})
    elsewhere = Demand(GPU, Isolation.SHARED, {"zone": "b"})
    assert capacity([node()], demand=demand).gpus == 4
    assert capacity([node()], demand=elsewhere) == Capacity(0, 0)


def test_cores_are_whole() -> None:
    assert capacity([node(), node()], demand=Demand(CPU, Isolation.SHARED)).gpus == 6


def test_largest_run_is_that_of_one_node() -> None:
    room = room_for(SHARED, [node("2"), node("4")], [usage(6)], None, nodes_are_known=True)
    assert room.largest_run == 4
    assert room_for(SHARED, [], [], None, nodes_are_known=True).largest_run == 0


@pytest.mark.parametrize(
    ("most", "used", "gpus"), [(None, 0, 8), (None, 3, 5), (2, 0, 2), (2, 5, 0)]
)
def test_where_nodes_may_not_be_read(most: int | None, used: int, gpus: int) -> None:
    room = room_for(SHARED, [], [usage(used)], most, nodes_are_known=False)
    assert room.capacity.gpus == gpus
    assert room.largest_run is None
