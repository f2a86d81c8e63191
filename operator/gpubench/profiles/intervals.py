"""Unions of intervals: time that is counted once, however many events share it.

Everything else follows by inclusion and exclusion: the time that A and B share is |A| + |B| - |A or
B|, and the time of A without B is |A or B| - |B|. Whole nanoseconds, so all of it is exact.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

MOST_WAITING = 1_000_000
"""Intervals that may wait to be merged: memory stays bounded however long the trace is."""


class Cover:
    """A set of moments, given as intervals that may overlap and come in any order."""

    def __init__(self, intervals: Iterable[pl.DataFrame] = ()) -> None:
        self._parts = [part.select("start", "end") for part in intervals]
        self._waiting = sum(part.height for part in self._parts)

    def add(self, intervals: pl.DataFrame) -> None:
        """Add intervals from `start` to `end`; no `end` may lie before its `start`."""
        self._parts.append(intervals.select("start", "end"))
        self._waiting += intervals.height
        if self._waiting > MOST_WAITING:
            self.pieces()
            self._waiting = 0

    def pieces(self) -> pl.DataFrame:
        """Return the same moments as disjoint intervals in order; those that touch are one."""
        self._parts = [_merged(pl.concat(self._parts))] if self._parts else [_NOTHING]
        return self._parts[0]

    def length(self) -> int:
        """Return how many nanoseconds are covered."""
        return int(self.pieces().select((pl.col("end") - pl.col("start")).sum()).item())

    def __or__(self, other: Cover) -> Cover:
        return Cover([self.pieces(), other.pieces()])

    def length_without(self, other: Cover) -> int:
        """Return how many nanoseconds are covered here and not there."""
        return (self | other).length() - other.length()

    def length_shared(self, other: Cover) -> int:
        """Return how many nanoseconds are covered in both."""
        return self.length() + other.length() - (self | other).length()


_NOTHING = pl.DataFrame(schema={"start": pl.Int64, "end": pl.Int64})


def _merged(intervals: pl.DataFrame) -> pl.DataFrame:
    ordered = intervals.sort("start")
    start, reached = ordered["start"], ordered["end"].cum_max()
    opens = (start > reached.shift(1)).fill_null(True)
    closes = opens.shift(-1, fill_value=True)
    return pl.DataFrame({"start": start.filter(opens), "end": reached.filter(closes)})
