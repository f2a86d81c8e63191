"""What of a table's rows can be true. The others are left out and counted, never guessed."""

from __future__ import annotations

import polars as pl

from gpubench.profiles.events import MAX_TIME, Findings, UnreadableTableError

MAX_BYTES = 2**42
"""More than any copy moves (4 TB)."""
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


def texts(column: str) -> pl.Expr:
    """Return the column as texts, null where its bytes are none."""
    return pl.col(column).cast(pl.String, strict=False)


def sized(events: pl.DataFrame, table: str, findings: Findings) -> pl.DataFrame:
    """Return the events with sizes that can be true, if they have sizes; others become null."""
    if "bytes" not in events.columns:
        return events
    known = events.select(pl.col("bytes").is_between(0, MAX_BYTES).fill_null(False)).to_series()
    if known.all():
        return events
    findings.note(f"Sizes in {table} are missing or cannot be true: its bytes are too few.")
    return events.with_columns(pl.when(known).then("bytes").alias("bytes"))


def check_gpus(events: pl.DataFrame, table: str, findings: Findings) -> None:
    """Tell where operations do not say on which GPU they ran."""
    if (
        "device" in events.columns
        and events.select("process", "device").null_count().sum_horizontal()[0]
    ):
        findings.note(f"Rows of {table} do not tell their GPU: how busy each was is not certain.")


def valid_times(events: pl.DataFrame, table: str, findings: Findings) -> pl.DataFrame:
    """Return the events that begin at 0 or later and do not end before they began."""
    valid = events.select(_VALID.fill_null(False)).to_series()
    dropped = events.height - int(valid.sum())
    if not dropped:
        return events
    findings.drop_rows(table, dropped)
    return events.filter(valid)
