"""What profiling cost, measured in the same run. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

FEWEST_BEFORE = 3
"""Unprofiled steps before the window that are worth comparing with; with fewer, later ones are."""


@dataclass(frozen=True)
class Overhead:
    """Profiled steps against unprofiled ones."""

    ratio: float
    """Mean iteration time of the profiled over that of the unprofiled ones, minus 1."""
    profiled: int
    """Profiled steps that were compared."""
    unprofiled: int
    """Unprofiled steps that they were compared with."""


def measure_overhead(steps: pl.DataFrame) -> Overhead | None:
    """Return the overhead by the table of all ranks' steps; None without steps of both kinds.

    Compared are steps that are regular on all ranks, with the time of the slowest, and as many
    unprofiled ones as there are profiled: the last ones before the window, or, where it opened at
    once, the first ones after it.
    """
    by_step = (
        steps.group_by("step")
        .agg(
            pl.col("iteration_seconds").max(),
            pl.col("regular").all(),
            pl.col("profiled").all(),
            pl.col("steady").all(),
            begun=pl.col("profiled").any(),
        )
        .sort("step")
    )
    profiled = by_step.filter("regular", "profiled")
    steady = by_step.filter("steady")
    if profiled.is_empty() or steady.is_empty():
        return None
    first = by_step.filter("begun")["step"].min()
    before, after = steady.filter(pl.col("step") < first), steady.filter(pl.col("step") > first)
    if len(before) >= FEWEST_BEFORE or after.is_empty():
        unprofiled = before.tail(len(profiled))
    else:
        unprofiled = after.head(len(profiled))
    ratio = _mean_seconds(profiled) / _mean_seconds(unprofiled)
    return Overhead(ratio=ratio - 1, profiled=len(profiled), unprofiled=len(unprofiled))


def _mean_seconds(steps: pl.DataFrame) -> float:
    return float(steps["iteration_seconds"].mean() or 0.0)  # type: ignore[arg-type]  # of floats
