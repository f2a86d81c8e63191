"""Numbers as text, the way the paper writes them: `3 721`, `99.43`, `1:02:01`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gpubench.analysis.metrics import Unit
from gpubench.analysis.report import NO_VALUE, Cell
from gpubench.analysis.statistics import Estimate, confidence_half_width

# No-break, so that a number never ends one line and begins the next.
THOUSANDS = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"

SIGNIFICANT_DIGITS = 3
MOST_DECIMALS = 4
PERCENT_DECIMALS = 2


def format_number(value: float, decimals: int) -> str:
    """Return a number with grouped thousands and a true minus sign."""
    text = f"{value:,.{decimals}f}".replace(",", THOUSANDS)
    is_zero = not text.strip("-0." + THOUSANDS)
    return text.lstrip("-") if is_zero else text.replace("-", MINUS)


def format_clock(seconds: float) -> str:
    """Return a length of time as h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


def decimals_for(values: Iterable[float], unit: Unit) -> int:
    """Return how many decimals a column needs: one count for all, so that its digits line up.

    Percentages and factors have two, as in the paper; everything else three significant digits
    of its smallest value.
    """
    if unit in (Unit.PERCENT, Unit.FACTOR):
        return PERCENT_DECIMALS
    sizes = [abs(value) for value in values if value]
    if not sizes:
        return 0
    digits = math.floor(math.log10(min(sizes))) + 1
    return min(max(SIGNIFICANT_DIGITS - digits, 0), MOST_DECIMALS)


def estimate_cells(
    estimates: Sequence[Estimate | None], unit: Unit, *, interval: bool = True
) -> list[Cell]:
    """Return a column of means, each with its standard deviation where n is 2 or more.

    The interval of the mean is said in a hint; ratios of means have none (`interval=False`).
    """
    known = [estimate for estimate in estimates if estimate]
    decimals = decimals_for((estimate.mean for estimate in known), unit)
    stds = [estimate.std for estimate in known if estimate.std is not None]
    spread_decimals = _spread_decimals(stds, decimals)
    return [
        _estimate_cell(estimate, decimals, spread_decimals, interval=interval)
        for estimate in estimates
    ]


def number_cells(values: Sequence[float | None], unit: Unit) -> list[Cell]:
    """Return a column of single numbers."""
    return estimate_cells(
        [None if value is None else Estimate(n=1, mean=value) for value in values], unit
    )


def _spread_decimals(stds: Sequence[float], decimals: int) -> int:
    """Return the decimals that show two digits of the largest spread, at least the mean's own."""
    largest = max(stds, default=0.0)
    if largest == 0:
        return decimals
    digits = math.floor(math.log10(largest)) + 1
    return min(max(decimals, 2 - digits), decimals + 2)


def _estimate_cell(
    estimate: Estimate | None, decimals: int, spread_decimals: int, *, interval: bool
) -> Cell:
    if estimate is None:
        return NO_VALUE
    std = estimate.std
    return Cell(
        text=format_number(estimate.mean, decimals),
        spread="" if std is None else f"± {format_number(std, spread_decimals)}",
        sort=estimate.mean,
        hint=_interval(estimate, spread_decimals) if interval else "",
    )


def _interval(estimate: Estimate, decimals: int) -> str:
    half = confidence_half_width(estimate)
    if half is None:
        return ""
    return f"n = {estimate.n}, 95 % interval of the mean ± {format_number(half, decimals)}"
