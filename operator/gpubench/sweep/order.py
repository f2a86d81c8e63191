"""The order in which the runs of a sweep start."""

from __future__ import annotations

from collections.abc import Sequence

from gpubench.api.enums import RunOrder
from gpubench.sweep.hashing import text_hash
from gpubench.sweep.names import run_name
from gpubench.sweep.plan import Point, Run

_KEY_LENGTH = 26
"""Characters of base32 that hold 128 bits: no two runs tie."""


def plan_runs(
    benchmark: str, points: Sequence[Point], repetitions: int, order: RunOrder, order_seed: int
) -> tuple[Run, ...]:
    """Return the runs of all points in the order in which they start."""

    def run_of(point: Point, repetition: int) -> Run:
        return Run(run_name(benchmark, point.point_hash, repetition), point, repetition)

    passes = range(1, repetitions + 1)
    if order is RunOrder.GROUPED:
        return tuple(run_of(point, repetition) for point in points for repetition in passes)
    runs = [run_of(point, repetition) for repetition in passes for point in points]
    if order is RunOrder.SHUFFLED:
        runs.sort(key=lambda run: _shuffle_key(run, order_seed))
    return tuple(runs)


def _shuffle_key(run: Run, seed: int) -> str:
    """Return a key that is random but needs no generator.

    It is the same on every version of Python, does not depend on the benchmark's name, and a point
    that is added leaves the order of the others as it was.
    """
    return text_hash(f"{seed}/{run.point.point_hash}/{run.repetition}", _KEY_LENGTH)
