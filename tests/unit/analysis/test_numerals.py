from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.analysis.metrics import Unit
from gpubench.analysis.numerals import (
    estimate_cells,
    format_clock,
    format_number,
    number_cells,
)
from gpubench.analysis.report import NO_VALUE
from gpubench.analysis.statistics import Estimate


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (6266.0, 0, "6_266"),
        (1234567.891, 2, "1_234_567.89"),
        (919.4, 0, "919"),
        (-0.03, 2, "\N{MINUS SIGN}0.03"),
        (-0.001, 2, "0.00"),
        (0.0, 0, "0"),
    ],
)
def test_numbers_are_grouped_as_in_the_paper(value: float, decimals: int, text: str) -> None:
    assert format_number(value, decimals) == text.replace("_", "\N{NO-BREAK SPACE}")


@given(st.floats(min_value=-1e9, max_value=1e9), st.integers(min_value=0, max_value=4))
def test_a_written_number_reads_back(value: float, decimals: int) -> None:
    text = format_number(value, decimals)
    read = float(text.replace("\N{NO-BREAK SPACE}", "").replace("\N{MINUS SIGN}", "-"))
    assert read == pytest.approx(value, abs=0.51 * 10**-decimals)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(19912.0, "5:31:52"), (3721.4, "1:02:01"), (59.6, "0:01:00"), (0.0, "0:00:00")],
)
def test_long_times_are_clocks(seconds: float, text: str) -> None:
    assert format_clock(seconds) == text


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([6266.0, 919.0], ["6\N{NO-BREAK SPACE}266", "919"]),
        ([18.34, 130.0], ["18.3", "130.0"]),
        ([0.0123, 2.0], ["0.0123", "2.0000"]),
    ],
)
def test_a_column_has_one_number_of_decimals(values: list[float], texts: list[str]) -> None:
    assert [cell.text for cell in number_cells(values, Unit.SECONDS)] == texts


def test_percentages_have_the_papers_two_decimals() -> None:
    assert number_cells([99.4], Unit.PERCENT)[0].text == "99.40"


def test_a_spread_stands_only_beside_repeated_runs() -> None:
    once, twice, never = estimate_cells(
        [Estimate(1, 100.0), Estimate(2, 110.0, 2.5), None], Unit.SECONDS
    )
    assert (once.spread, once.hint) == ("", "")
    assert twice.spread == "± 2.5"
    assert twice.hint.startswith("n = 2, 95 % interval")
    assert never == NO_VALUE


def test_ratios_have_no_interval() -> None:
    (cell,) = estimate_cells([Estimate(3, 1.9, 0.1)], Unit.FACTOR, interval=False)
    assert cell.hint == ""
