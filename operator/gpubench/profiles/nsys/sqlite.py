"""Exports as one SQLite file.

Arrow's driver reads it in columns; rows in Python would take four times as long. The file is opened
as unchangeable: nothing is locked, no journal is made beside it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import polars as pl
from adbc_driver_manager import DatabaseError
from adbc_driver_sqlite import StatementOptions, dbapi

from gpubench.profiles.errors import ProfileError
from gpubench.profiles.events import UnreadableTableError
from gpubench.profiles.nsys.source import BATCH_ROWS, read_ahead
from gpubench.profiles.nsys.tables import TEXT_COLUMNS
from gpubench.profiles.polars_errors import POLARS_ERRORS, first_line

SQLITE_ERRORS = (sqlite3.Error, DatabaseError, *POLARS_ERRORS)
_ROW = "row number"


class SqliteSource:
    """A SQLite file."""

    damaged: Mapping[str, str] = {}

    def __init__(self, path: Path) -> None:
        self._uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(self._uri, uri=True)) as connection:
                self.columns = _tables(connection)
        except SQLITE_ERRORS as error:
            msg = f"{path}: not a SQLite file that can be read ({first_line(error)})"
            raise ProfileError(msg) from None
        # No row takes less than this; more rows mean that pages refer to each other in a circle.
        self._most_rows = path.stat().st_size // 4

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows of a table."""
        try:
            with closing(dbapi.connect(self._uri)) as connection:
                yield from read_ahead(self._batches(connection, table, columns))
        except SQLITE_ERRORS as error:
            raise UnreadableTableError(first_line(error)) from None

    def _batches(
        self, connection: dbapi.Connection, table: str, columns: Sequence[str]
    ) -> Iterator[pl.DataFrame]:
        last, rows = None, 0
        while True:
            batch = _read_batch(connection, table, columns, last)
            rows += batch.height
            if rows > self._most_rows:
                msg = "it has more rows than its file has room for"
                raise UnreadableTableError(msg)
            if not _in_sequence(batch[_ROW], last):
                self._check_pages(table)
            if batch.height:
                yield batch.drop(_ROW)
            if batch.height < BATCH_ROWS:
                return
            last = batch.item(-1, _ROW)

    def _check_pages(self, table: str) -> None:
        """Look for the reason why rows are missing: damage, or somebody deleted them.

        A damaged page may hide rows without an error from SQLite. Every page would have to be read
        twice to be sure of it, so only those tables are checked that give reason to.
        """
        with closing(sqlite3.connect(self._uri, uri=True)) as connection:
            found = connection.execute(f"PRAGMA quick_check({_quoted(table)})").fetchone()
        if found != ("ok",):
            msg = f"its pages are damaged: {first_line(ValueError(*found))}"
            raise UnreadableTableError(msg)


def _in_sequence(numbers: pl.Series, last: int | None) -> bool:
    """Tell whether rows follow each other without a gap; those of an export do."""
    if numbers.is_empty():
        return True
    return bool((numbers.diff().drop_nulls() == 1).all()) and last in {None, numbers[0] - 1}


def _tables(connection: sqlite3.Connection) -> dict[str, frozenset[str]]:
    """Return the columns of each table; views and virtual tables are no part of an export."""
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
    ).fetchall()
    return {
        name: frozenset(row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(name)})"))
        for (name,) in tables
    }


def _read_batch(
    connection: dbapi.Connection, table: str, columns: Sequence[str], last: int | None
) -> pl.DataFrame:
    listed = ", ".join(map(_selected, columns))
    after = "" if last is None else f"WHERE rowid > {last}"
    query = (
        f"SELECT rowid AS {_quoted(_ROW)}, {listed} FROM {_quoted(table)} "  # noqa: S608 - names quoted
        f"{after} ORDER BY rowid LIMIT {BATCH_ROWS}"
    )
    with connection.cursor() as cursor:
        # Types are inferred from a batch of the driver's, so that one of its is one of ours.
        cursor.adbc_statement.set_options(**{StatementOptions.BATCH_ROWS.value: str(BATCH_ROWS)})
        cursor.execute(query)
        return pl.DataFrame(cursor.fetch_arrow())


def _selected(column: str) -> str:
    # Bytes, because nobody on the way checks that a text of SQLite is one.
    quoted = _quoted(column)
    return f"CAST({quoted} AS BLOB) AS {quoted}" if column in TEXT_COLUMNS else quoted


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
