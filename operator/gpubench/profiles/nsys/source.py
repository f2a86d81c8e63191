"""What every form of an export offers: tables by name, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import polars as pl

BATCH_ROWS = 1_000_000
"""Rows of a batch: enough for the columnar work to be fast, few enough for memory to be small."""


class TableSource(Protocol):
    """An export of a report."""

    @property
    def columns(self) -> Mapping[str, frozenset[str]]:
        """The columns of each table."""

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield a table's rows in batches of these columns, types as they are found.

        Raises:
            UnreadableTableError: the table is damaged.
        """
