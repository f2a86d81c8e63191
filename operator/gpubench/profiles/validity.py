"""What of a table's rows can be true. The others are left out and counted, never guessed."""

from __future__ import annotations

import polars as pl

from gpubench.profiles.events import MAX_TIME, Findings, UnreadableTableError

_START = pl.col("start")
_END = pl.col("end")
_VALID = (_START >= 0) & (_END >= _START) & (_END < MAX_TIME)


def whole_numbers(batch: pl.DataFrame, column: str, table: str) -> pl.Expr:
    """Return the column as 64-bit numbers.

    Raises:
        UnreadableTableError: it holds something else.
    """
    found = batch.schema[column]
    if found.is_integer() or found == pl.Null:
        return pl.col(column).cast(pl.Int64)
    msg = f"column {column} of table {table} holds {str(found).lower()} instead of whole numbers"
    raise UnreadableTableError(msg)


def valid_times(events: pl.DataFrame, table: str, findings: Findings) -> pl.DataFrame:
    """Return the events that begin at 0 or later and do not end before they began."""
    valid = events.select(_VALID.fill_null(False)).to_series()
    dropped = events.height - int(valid.sum())
    if not dropped:
        return events
    findings.drop_rows(table, dropped)
    return events.filter(valid)
