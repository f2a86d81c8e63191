"""How often each duration occurred: small however long the trace, and exact for every statistic.

Tallies of several batches or ranks add up, and percentiles of all events together follow from the
sum, which they do not from percentiles of each part.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

MOST_WAITING = 2_000_000
"""Rows that may wait to be added up."""
_SUMS = (pl.col("calls").sum(), pl.col("bytes").sum())


class Tally:
    """Durations of events, counted for each value of some keys."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = [*keys, "duration"]
        self._parts: list[pl.DataFrame] = []
        self._waiting = 0

    def add(self, events: pl.DataFrame) -> None:
        """Count events with `start` and `end`, the keys, and `bytes` if they have it."""
        size = pl.col("bytes").fill_null(0).sum() if "bytes" in events.columns else pl.lit(0)
        self._parts.append(
            events.lazy()
            .with_columns((pl.col("end") - pl.col("start")).alias("duration"))
            .group_by(self._keys)
            .agg(pl.len().cast(pl.Int64).alias("calls"), size.cast(pl.Int64).alias("bytes"))
            .collect()
        )
        self._waiting += self._parts[-1].height
        if self._waiting > MOST_WAITING:
            self._parts = [self._added_up()]
            self._waiting = 0

    def counts(self) -> pl.DataFrame | None:
        """Return the keys, `duration`, `calls` and `bytes`; None if nothing was counted."""
        return self._added_up() if self._parts else None

    def _added_up(self) -> pl.DataFrame:
        if len(self._parts) == 1:
            return self._parts[0]
        return pl.concat(self._parts).group_by(self._keys).agg(*_SUMS)


def summarize(counts: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return for each value of the keys: `calls`, `total`, `bytes`, `min`, `max`, `p50` and `p99`.

    Durations are nanoseconds; percentiles are interpolated between the two events beside them.
    """
    ordered = counts.group_by(*keys, "duration").agg(*_SUMS).sort(*keys, "duration")
    return ordered.group_by(*keys, maintain_order=True).agg(
        *_SUMS,
        # Wider than 64 bits: a sum of damaged durations must not come out small.
        (pl.col("duration").cast(pl.Int128) * pl.col("calls")).sum().alias("total"),
        pl.col("duration").first().alias("min"),
        pl.col("duration").last().alias("max"),
        _percentile(0.5).alias("p50"),
        _percentile(0.99).alias("p99"),
    )


def _percentile(share: float) -> pl.Expr:
    position = (pl.col("calls").sum() - 1) * share
    below, above = (_at(edge) for edge in (position.floor(), position.ceil()))
    return below + (above - below) * (position - position.floor())


def _at(position: pl.Expr) -> pl.Expr:
    """Return the duration of the event at a place in their order, counted from 0."""
    return pl.col("duration").filter(pl.col("calls").cum_sum() > position).first()
