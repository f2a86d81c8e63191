"""Means with their spread, and ratios of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

# Two-sided 95 % quantiles of Student's t distribution by degrees of freedom
# (NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2, column 0.975).
_T_95 = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
    10: 2.228,
    15: 2.131,
    20: 2.086,
    30: 2.042,
    60: 2.000,
}


@dataclass(frozen=True)
class Estimate:
    """A mean over repetitions; `std` is the sample's (n - 1), None where n is 1."""

    n: int
    mean: float
    std: float | None = None


def summarize(values: Iterable[float | None]) -> Estimate | None:
    """Return mean and sample standard deviation of the values that exist, None if none does."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    std = statistics.stdev(known) if len(known) > 1 else None
    return Estimate(n=len(known), mean=statistics.fmean(known), std=std)


def divide(numerator: Estimate, denominator: Estimate) -> Estimate | None:
    """Return a ratio of means with its propagated spread, None where the divisor is zero.

    std(a/b) = |a/b| * sqrt((std_a/a)^2 + (std_b/b)^2): first-order propagation for independent
    inputs (JCGM 100:2008, 5.1.2). Known only where both spreads are; n is the smaller of the two.
    """
    if denominator.mean == 0:
        return None
    ratio = numerator.mean / denominator.mean
    n = min(numerator.n, denominator.n)
    if numerator.std is None or denominator.std is None or numerator.mean == 0:
        return Estimate(n=n, mean=ratio)
    relative = math.hypot(numerator.std / numerator.mean, denominator.std / denominator.mean)
    return Estimate(n=n, mean=ratio, std=abs(ratio) * relative)


def scale(estimate: Estimate, factor: float) -> Estimate:
    """Return the estimate in another unit."""
    std = None if estimate.std is None else estimate.std * abs(factor)
    return Estimate(n=estimate.n, mean=estimate.mean * factor, std=std)


def confidence_half_width(estimate: Estimate) -> float | None:
    """Return half the width of the mean's 95 % confidence interval: t * std / sqrt(n).

    It takes repetitions to be independent and roughly normal.
    """
    if estimate.std is None:
        return None
    return _t_95(estimate.n - 1) * estimate.std / math.sqrt(estimate.n)


def _t_95(degrees: int) -> float:
    """Return the quantile of the next smaller tabulated degrees: never too narrow an interval."""
    return _T_95[max(known for known in _T_95 if known <= degrees)]
