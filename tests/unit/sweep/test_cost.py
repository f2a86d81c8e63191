from __future__ import annotations

import pytest

from gpubench.sweep.cost import Estimate, estimate_cost
from tests.unit.sweep.sweeps import plan

PLAN = plan(matrix={"gpus": [1, 2]}, repetitions=2)
ONE, TWO = (point.point_hash for point in PLAN.points)


@pytest.mark.parametrize(
    ("earlier", "estimate"),
    [
        ({}, Estimate(0, 0, 4)),
        ({ONE: []}, Estimate(0, 0, 4)),
        ({ONE: [10.0]}, Estimate(20.0, 2, 2)),
        ({ONE: [10.0, 12.0, 1000.0], TWO: [1.0, 3.0]}, Estimate(28.0, 4, 0)),
        ({"unrelated": [1.0]}, Estimate(0, 0, 4)),
    ],
)
def test_runs_cost_what_their_points_cost_before(
    earlier: dict[str, list[float]], estimate: Estimate
) -> None:
    assert estimate_cost(PLAN.runs, earlier) == estimate


def test_no_runs_cost_nothing() -> None:
    assert estimate_cost([], {ONE: [1.0]}) == Estimate(0, 0, 0)


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (Estimate(0, 0, 0), "nothing to run"),
        (Estimate(0, 0, 24), "unknown: no earlier result of these points"),
        (Estimate(42.4, 24, 0), "about 42 GPU-seconds"),
        (Estimate(600, 24, 0), "about 10 GPU-minutes"),
        (Estimate(72_114, 16, 0), "about 20.0 GPU-hours"),
        (Estimate(3_600_000, 16, 0), "about 1,000.0 GPU-hours"),
        (
            Estimate(7200, 10, 14),
            "at least 2.0 GPU-hours for 10 of 24 runs; no earlier result of the other 14",
        ),
    ],
)
def test_an_estimate_in_words(estimate: Estimate, words: str) -> None:
    assert estimate.describe() == words
