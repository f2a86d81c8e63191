"""What profiling cost, by the table of steps."""

from __future__ import annotations

import polars as pl
import pytest

from gpubench_workloads.profiling.overhead import measure_overhead

UNPROFILED, PROFILED, IRREGULAR = "u", "p", "x"


def table(kinds: str, seconds: dict[str, float], ranks: int = 1) -> pl.DataFrame:
    """Steps by one letter each; the last rank is the slowest, by a tenth of a second."""
    return pl.DataFrame(
        {
            "step": number,
            "iteration_seconds": seconds.get(kind, 9.0) - 0.1 * (ranks - 1 - rank),
            "regular": kind != IRREGULAR,
            "profiled": kind == PROFILED,
            "steady": kind == UNPROFILED,
        }
        for rank in range(ranks)
        for number, kind in enumerate(kinds, start=1)
    )


def test_it_is_profiled_over_unprofiled_time_of_the_slowest_rank() -> None:
    found = measure_overhead(table("xxuuuuxppppxuuu", {"u": 2.0, "p": 2.5}, ranks=2))
    assert found is not None
    assert found.ratio == pytest.approx(0.25)
    assert (found.profiled, found.unprofiled) == (4, 4)


def test_only_as_many_steps_before_the_window_are_compared() -> None:
    steps = table("uuuuuuxpppp", {"u": 2.0, "p": 3.0}).with_columns(
        pl.when(pl.col("step") <= 2)
        .then(100.0)
        .otherwise("iteration_seconds")
        .alias("iteration_seconds")
    )
    found = measure_overhead(steps)
    assert found is not None
    assert found.ratio == pytest.approx(0.5)


def test_a_window_from_the_start_is_compared_with_what_follows() -> None:
    found = measure_overhead(table("xppppxuuuuuuu", {"u": 2.0, "p": 2.2}))
    assert found is not None
    assert found.ratio == pytest.approx(0.1)
    assert found.unprofiled == 4


@pytest.mark.parametrize("kinds", ["xuuuu", "xpppp", "xxxx", ""])
def test_without_steps_of_both_kinds_it_is_unknown(kinds: str) -> None:
    empty = table("u", {}).clear()
    assert measure_overhead(table(kinds, {}) if kinds else empty) is None


def test_a_step_that_only_one_rank_profiled_counts_for_neither() -> None:
    steps = table("uuuu", {"u": 2.0}, ranks=2).with_columns(
        profiled=pl.Series([False, False, True, True, False, False, False, True]),
        iteration_seconds=pl.Series([2.0, 2.0, 7.0, 2.0] * 2),
        steady=pl.Series([True, True, False, False, True, True, True, False]),
    )
    found = measure_overhead(steps)
    assert found is not None
    assert (found.profiled, found.unprofiled) == (1, 1)
    assert found.ratio == pytest.approx(0)
