"""Exports as a folder of parquet files, one for each table (`nsys export --type=parquetdir`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from gpubench.profiles.errors import ProfileError
from gpubench.profiles.events import UnreadableTableError
from gpubench.profiles.nsys.source import BATCH_ROWS
from gpubench.profiles.polars_errors import POLARS_ERRORS, first_line


class ParquetSource:
    """A folder of parquet files."""

    def __init__(self, folder: Path) -> None:
        files = {path.stem: path for path in sorted(folder.glob("*.parquet"))}
        self._files = {table: path for table, path in files.items() if path.is_file()}
        self.columns: dict[str, frozenset[str]] = {}
        self.damaged: dict[str, str] = {}
        for table, path in self._files.items():
            try:
                self.columns[table] = frozenset(pl.read_parquet_schema(path))
            except POLARS_ERRORS as error:
                self.damaged[table] = first_line(error)
        if not self.columns:
            reason = next(iter(self.damaged.values()), "it holds no parquet files")
            msg = f"{folder}: not an export of Nsight Systems ({reason})"
            raise ProfileError(msg)

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows of a table."""
        scan = pl.scan_parquet(self._files[table], glob=False)
        rows = 0
        try:
            for batch in scan.select(columns).collect_batches(chunk_size=BATCH_ROWS):
                rows += batch.height
                yield batch
            promised = scan.select(pl.len()).collect().item()
        except POLARS_ERRORS as error:
            raise UnreadableTableError(first_line(error)) from None
        # When polars panics over a damaged page, its batches may just end.
        if rows != promised:
            msg = f"{rows} of its {promised} rows can be read"
            raise UnreadableTableError(msg)
