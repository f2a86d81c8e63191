"""The simplest way to read an export: row by row, in Python. Slow, and hard to get wrong."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

from gpubench.api.enums import Family, ProfiledKind
from gpubench.profiles.families import copy_family, family_of

Numbers = dict[Family, tuple[int, int]]
"""Calls and nanoseconds."""
CALL_TABLES = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": (ProfiledKind.API, "nameId"),
    "CUPTI_ACTIVITY_KIND_KERNEL": (ProfiledKind.KERNEL, "shortName"),
    "OSRT_API": (ProfiledKind.OS_RUNTIME, "nameId"),
}
UNUSED_COLUMNS = {"demangledName", "contextId", "streamId"}
UNUSED_COLUMNS_OF = {
    "OSRT_API": {"globalTid"},
    "CUPTI_ACTIVITY_KIND_RUNTIME": {"eventClass"},
}
Row = dict[str, Any]


class Counted:
    """Calls and totals that grow."""

    def __init__(self) -> None:
        self.calls: Counter[Family] = Counter()
        self.totals: Counter[Family] = Counter()

    def add(self, family: Family, start: object, end: object) -> None:
        if not isinstance(start, int) or not isinstance(end, int):
            return
        if 0 <= start <= end < 2**62:
            self.calls[family] += 1
            self.totals[family] += end - start

    def numbers(self) -> Numbers:
        return {family: (self.calls[family], self.totals[family]) for family in self.calls}


def read_plainly(report: Path) -> Numbers | None:
    """Return what a report says; None if some of it cannot be read."""
    try:
        if report.is_dir():
            return _of_tables({path.stem: _parquet(path) for path in report.glob("*.parquet")})
        if report.suffix == ".sqlite":
            return _of_tables(_sqlite(report))
        return _of_trace(report)
    except (
        sqlite3.Error,
        OSError,
        EOFError,
        ValueError,
        KeyError,
        TypeError,
        pl.exceptions.PolarsError,
    ):
        return None
    except BaseException as error:
        # What polars' own parser throws is no exception.
        if type(error).__name__ != "PanicException":
            raise
        return None


def _parquet(path: Path) -> list[Row]:
    # Damage of what nobody looks at is no damage.
    unused = UNUSED_COLUMNS | UNUSED_COLUMNS_OF.get(path.stem, set())
    columns = [name for name in pl.read_parquet_schema(path) if name not in unused]
    return pl.read_parquet(path, columns=columns).to_dicts()


def _sqlite(path: Path) -> dict[str, list[Row]]:
    uri = f"file:{path}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        check = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if check[0] != "ok":
            raise sqlite3.DatabaseError(check[0])
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        return {
            name: [dict(row) for row in connection.execute(f'SELECT * FROM "{name}"')]
            for (name,) in (tuple(table) for table in tables)
        }


def _of_tables(tables: dict[str, list[Row]]) -> Numbers:
    counted = Counted()
    names = {row["id"]: row["value"] for row in tables.get("StringIds", [])}
    for table, (kind, column) in CALL_TABLES.items():
        for row in tables.get(table, []):
            if table != "OSRT_API" or row["eventClass"] == 27:
                name = names.get(row[column], "(no name)")
                counted.add(family_of(kind, str(name)), row["start"], row["end"])
    for row in tables.get("CUPTI_ACTIVITY_KIND_MEMCPY", []):
        counted.add(copy_family(row["copyKind"] or 0), row["start"], row["end"])
    for row in tables.get("CUPTI_ACTIVITY_KIND_MEMSET", []):
        counted.add(Family.MEMSET, row["start"], row["end"])
    return counted.numbers()


def _of_trace(path: Path) -> Numbers:
    content = path.read_bytes()
    document = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    counted = Counted()
    for event in document["traceEvents"]:
        if isinstance(event, dict) and event.get("ph") == "X":
            _count_event(counted, event)
    return counted.numbers()


def _count_event(counted: Counted, event: Row) -> None:
    start, length, name = event.get("ts"), event.get("dur"), event.get("name")
    numbers = all(
        isinstance(time, int | float) and type(time) is not bool for time in (start, length)
    )
    if not numbers or not isinstance(name, str):
        return
    assert isinstance(start, int | float)
    assert isinstance(length, int | float)
    if not (abs(start) < 4e15 and abs(length) < 4e15):
        return
    begin, end = round(start * 1000), round(start * 1000) + round(length * 1000)
    families: dict[str, Callable[[], Family]] = {
        "cuda_runtime": lambda: family_of(ProfiledKind.API, name),
        "kernel": lambda: family_of(ProfiledKind.KERNEL, name),
        "gpu_memcpy": lambda: (
            Family.MEMCPY_HOST_TO_DEVICE if name.split()[1:2] == ["HtoD"] else Family.MEMCPY_OTHER
        ),
        "gpu_memset": lambda: Family.MEMSET,
    }
    find = families.get(str(event.get("cat")))
    if find:
        counted.add(find(), begin, end)
