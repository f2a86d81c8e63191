from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.analysis.statistics import (
    Estimate,
    confidence_half_width,
    divide,
    scale,
    summarize,
)

amounts = st.floats(min_value=0.01, max_value=1e6)


def test_the_standard_deviation_is_the_samples() -> None:
    estimate = summarize([2.0, 4.0, 9.0])
    assert estimate is not None
    assert estimate.std is not None
    assert (estimate.n, estimate.mean) == (3, 5.0)
    # ((2-5)^2 + (4-5)^2 + (9-5)^2) / (3 - 1) = 13
    assert math.isclose(estimate.std, math.sqrt(13))


def test_one_value_has_no_spread() -> None:
    assert summarize([7.0]) == Estimate(n=1, mean=7.0, std=None)


def test_values_that_do_not_exist_are_not_counted() -> None:
    assert summarize([None, 3.0, None]) == Estimate(n=1, mean=3.0)
    assert summarize([None]) is None
    assert summarize([]) is None


@given(st.lists(amounts, min_size=1, max_size=20))
def test_the_mean_lies_between_the_extremes(values: list[float]) -> None:
    estimate = summarize(values)
    assert estimate is not None
    slack = 1e-9 * max(values)
    assert min(values) - slack <= estimate.mean <= max(values) + slack


def test_a_ratio_carries_the_spread_of_both_sides() -> None:
    ratio = divide(Estimate(3, 200.0, 4.0), Estimate(3, 100.0, 1.0))
    assert ratio is not None
    assert ratio.std is not None
    assert math.isclose(ratio.std, 2 * math.sqrt(0.0005))


def test_the_propagated_spread_is_what_a_simulation_finds() -> None:
    draw = random.Random(7)
    top, bottom = Estimate(3, 200.0, 4.0), Estimate(3, 100.0, 3.0)
    ratios = [draw.gauss(200, 4) / draw.gauss(100, 3) for _ in range(20_000)]
    expected = divide(top, bottom)
    assert expected is not None
    assert statistics.stdev(ratios) == pytest.approx(expected.std, rel=0.05)


def test_a_ratio_has_no_spread_unless_both_sides_have() -> None:
    ratio = divide(Estimate(3, 200.0, 4.0), Estimate(1, 100.0))
    assert ratio == Estimate(n=1, mean=2.0, std=None)


def test_nothing_is_divided_by_zero() -> None:
    assert divide(Estimate(1, 1.0), Estimate(1, 0.0)) is None
    assert divide(Estimate(2, 0.0, 0.0), Estimate(2, 5.0, 1.0)) == Estimate(2, 0.0)


def test_scaling_scales_the_spread_too() -> None:
    assert scale(Estimate(2, 0.5, 0.1), 100) == Estimate(2, 50.0, 10.0)


@pytest.mark.parametrize(
    ("n", "factor"),
    # t / sqrt(n) by the handbook's quantiles: 12.706, 4.303, 2.776 and 2.262.
    [(2, 8.985), (3, 2.484), (5, 1.241), (10, 0.715)],
)
def test_the_interval_is_students(n: int, factor: float) -> None:
    half = confidence_half_width(Estimate(n, 10.0, 1.0))
    assert half == pytest.approx(factor, abs=0.001)


@given(st.integers(min_value=2, max_value=500))
def test_the_interval_is_never_narrower_than_the_normal_distributions(n: int) -> None:
    half = confidence_half_width(Estimate(n, 10.0, 1.0))
    assert half is not None
    assert half >= 1.95 / math.sqrt(n)


def test_one_run_has_no_interval() -> None:
    assert confidence_half_width(Estimate(1, 10.0)) is None
