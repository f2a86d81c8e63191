"""How fast a sweep is expanded: the operator does it at every change of a benchmark."""

from __future__ import annotations

import time

import pytest

from gpubench.api.errors import SpecError
from gpubench.sweep.expansion import expand
from tests.unit.sweep.sweeps import benchmark

TRIES = 3
MAX_SECONDS = 1.0
"""For 10,000 points, the best of three; 0.43 to 0.49 s on two cores of an EPYC with others at
work (November 2026)."""
MAX_REFUSAL_SECONDS = 0.01
"""0.0001 s on the same machine."""


def test_the_largest_sweep_is_expanded_checked_and_hashed_within_a_second() -> None:
    sweep = {"seed": list(range(50)), "epochs": list(range(1, 51)), "gpus": [1, 2, 3, 4]}
    a_benchmark = benchmark(matrix=sweep)
    plan = expand(a_benchmark)
    seconds = []
    for _ in range(TRIES):
        start = time.perf_counter()
        plan = expand(a_benchmark)
        seconds.append(time.perf_counter() - start)
    assert len({run.name for run in plan.runs}) == 10_000
    print(f"10,000 points: {min(seconds):.3f} s (best of {TRIES}, worst {max(seconds):.3f} s)")
    assert min(seconds) < MAX_SECONDS


def test_a_billion_points_are_refused_at_once() -> None:
    axis = list(range(8, 72))
    names = ("imageSize", "epochs", "batchSize", "workers", "seed")
    a_benchmark = benchmark(matrix=dict.fromkeys(names, axis))
    seconds = []
    for _ in range(TRIES):
        start = time.perf_counter()
        with pytest.raises(SpecError, match="1,073,741,824 points"):
            expand(a_benchmark)
        seconds.append(time.perf_counter() - start)
    print(f"1,073,741,824 points refused: {min(seconds) * 1000:.3f} ms")
    assert min(seconds) < MAX_REFUSAL_SECONDS
