"""What every form of an export offers: tables by name, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

import polars as pl

Item = TypeVar("Item")
BATCH_ROWS = 1_000_000
"""Rows of a batch: enough for the columnar work to be fast, few enough for memory to be small."""


class TableSource(Protocol):
    """An export of a report."""

    @property
    def columns(self) -> Mapping[str, frozenset[str]]:
        """The columns of each table."""

    @property
    def damaged(self) -> Mapping[str, str]:
        """Tables of which not even the columns can be read, and why."""

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield a table's rows in batches of these columns, types as they are found.

        Raises:
            UnreadableTableError: the table is damaged.
        """


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items, each made by another thread while the one before is worked on."""
    with ThreadPoolExecutor(max_workers=1) as reader:
        coming = reader.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = reader.submit(next, items, None)
            yield item
