from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpubench.sweep.plan import Run
from tests.unit.sweep.sweeps import AXES, plan

REPETITIONS = st.integers(1, 5)
ORDERS = st.sampled_from(["Declared", "Shuffled", "Grouped"])


def steps(runs: tuple[Run, ...]) -> list[tuple[int, int]]:
    return [(run.point.gpus, run.repetition) for run in runs]


def test_declared_runs_all_points_once_per_repetition() -> None:
    runs = plan(matrix={"gpus": [2, 1]}, repetitions=2).runs
    assert steps(runs) == [(2, 1), (1, 1), (2, 2), (1, 2)]


def test_grouped_runs_all_repetitions_of_a_point_together() -> None:
    runs = plan(matrix={"gpus": [2, 1]}, repetitions=2, order="Grouped").runs
    assert steps(runs) == [(2, 1), (2, 2), (1, 1), (1, 2)]


def test_shuffled_stays_what_it_is_for_a_seed() -> None:
    def shuffled(seed: int) -> list[tuple[int, int]]:
        gpus = [1, 2, 3, 4]
        return steps(plan(matrix={"gpus": gpus}, order="Shuffled", orderSeed=seed).runs)

    assert shuffled(0) == [(2, 1), (4, 1), (3, 1), (1, 1)]
    assert shuffled(1) == [(1, 1), (3, 1), (4, 1), (2, 1)]


@given(AXES, REPETITIONS, ORDERS, st.integers(0, 3))
def test_every_order_has_every_run_once(
    matrix: dict[str, Any], repetitions: int, order: str, seed: int
) -> None:
    a_plan = plan(matrix=matrix, repetitions=repetitions, order=order, orderSeed=seed)
    wanted = {(p.point_hash, r) for p in a_plan.points for r in range(1, repetitions + 1)}
    assert {(run.point.point_hash, run.repetition) for run in a_plan.runs} == wanted
    assert len(a_plan.runs) == len(wanted)
    assert len({run.name for run in a_plan.runs}) == len(wanted)


@given(AXES, REPETITIONS)
def test_declared_repeats_one_pass(matrix: dict[str, Any], repetitions: int) -> None:
    a_plan = plan(matrix=matrix, repetitions=repetitions)
    assert [run.point for run in a_plan.runs] == list(a_plan.points) * repetitions


@given(AXES, REPETITIONS)
def test_grouped_is_declared_sorted_by_point(matrix: dict[str, Any], repetitions: int) -> None:
    declared = plan(matrix=matrix, repetitions=repetitions)
    position = {point.point_hash: index for index, point in enumerate(declared.points)}
    grouped = plan(matrix=matrix, repetitions=repetitions, order="Grouped").runs
    by_point = sorted(declared.runs, key=lambda run: position[run.point.point_hash])
    assert list(grouped) == by_point


@given(AXES, REPETITIONS, st.integers(0, 3))
def test_a_point_that_is_added_leaves_the_others_in_their_order(
    matrix: dict[str, Any], repetitions: int, seed: int
) -> None:
    fields: dict[str, Any] = {"repetitions": repetitions, "order": "Shuffled", "orderSeed": seed}
    small = [run.name for run in plan(matrix=matrix, **fields).runs]
    large = [run.name for run in plan(matrix=matrix, include=[{"seed": 7}], **fields).runs]
    assert [name for name in large if name in set(small)] == small


@given(AXES, REPETITIONS, ORDERS)
def test_more_repetitions_keep_the_runs_there_are(
    matrix: dict[str, Any], repetitions: int, order: str
) -> None:
    few = {run.name for run in plan(matrix=matrix, repetitions=repetitions, order=order).runs}
    more = {run.name for run in plan(matrix=matrix, repetitions=repetitions + 1, order=order).runs}
    assert few < more
