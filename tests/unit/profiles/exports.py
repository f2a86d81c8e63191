"""Exports of Nsight Systems, made row by row for tests."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

TIMES = "start INTEGER NOT NULL, end INTEGER NOT NULL"
ON_GPU = (
    f"{TIMES}, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,"
    " correlationId INTEGER, globalPid INTEGER"
)
CALLS = f"{TIMES}, eventClass INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL"
SCHEMA: Mapping[str, str] = {
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
    "CUPTI_ACTIVITY_KIND_RUNTIME": f"{CALLS}, correlationId INTEGER",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{ON_GPU}, demangledName INTEGER, shortName INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{ON_GPU}, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL,"
    " srcKind INTEGER, dstKind INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{ON_GPU}, bytes INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": ON_GPU,
    "CUDNN_EVENTS": CALLS,
    "CUBLAS_EVENTS": CALLS,
    "OSRT_API": CALLS,
    "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,"
    " globalTid INTEGER, textId INTEGER, domainId INTEGER",
}
"""What gpubench reads of an export, as nsys declares it."""
PROCESS = (1 << 48) + (4711 << 24)
"""A process; its threads are the numbers after it."""
Row = dict[str, Any]


class Export:
    """An export that grows; tables of a new one come with their first row, as nsys makes them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[str, list[Row]] = {}
        self._strings: dict[str, int] = {}

    def text(self, text: str) -> int:
        """Return the number of a string."""
        return self._strings.setdefault(text, 1_000_000 + len(self._strings))

    def add(self, table: str, **values: Any) -> Export:
        """Add a row; columns that are not named are 0 or null."""
        self._rows.setdefault(table, []).append(values)
        return self

    def call(self, name: str, start: int, end: int, **values: Any) -> Export:
        """Add a call of the CUDA API."""
        row: Row = {"globalTid": PROCESS + 1, "correlationId": 0, "eventClass": 0}
        return self._named("CUPTI_ACTIVITY_KIND_RUNTIME", name, start, end, row | values)

    def kernel(self, name: str, start: int, end: int, **values: Any) -> Export:
        """Add a kernel."""
        number = self.text(name)
        row: Row = {"shortName": number, "demangledName": number, "globalPid": PROCESS}
        row |= {"correlationId": 0, "start": start, "end": end}
        return self.add("CUPTI_ACTIVITY_KIND_KERNEL", **row | values)

    def copy(self, kind: int, start: int, end: int, size: int, **values: Any) -> Export:
        """Add a copy."""
        row: Row = {"copyKind": kind, "bytes": size, "globalPid": PROCESS, "correlationId": 0}
        row |= {"start": start, "end": end, "srcKind": 2, "dstKind": 2}
        return self.add("CUPTI_ACTIVITY_KIND_MEMCPY", **row | values)

    def memset(self, start: int, end: int, size: int, **values: Any) -> Export:
        """Add a memset."""
        row: Row = {"bytes": size, "globalPid": PROCESS, "start": start, "end": end}
        return self.add("CUPTI_ACTIVITY_KIND_MEMSET", **row | {"correlationId": 0} | values)

    def library(self, table: str, name: str, start: int, end: int) -> Export:
        """Add a call of cudnn or cublas."""
        return self._named(table, name, start, end, {"globalTid": PROCESS + 1, "eventClass": 0})

    def os_call(self, name: str, start: int, end: int, event_class: int = 27) -> Export:
        """Add a call of the C library."""
        row: Row = {"globalTid": PROCESS + 1, "eventClass": event_class}
        return self._named("OSRT_API", name, start, end, row)

    def range(self, text: str, start: int, end: int | None, domain: int = 0) -> Export:
        """Add an NVTX range."""
        row: Row = {"text": text, "start": start, "end": end, "eventType": 59}
        return self.add("NVTX_EVENTS", globalTid=PROCESS + 1, domainId=domain, **row)

    def domain(self, name: str, number: int) -> Export:
        """Name a domain of ranges."""
        row: Row = {"text": name, "start": 0, "end": None, "eventType": 75}
        return self.add("NVTX_EVENTS", globalTid=PROCESS + 1, domainId=number, **row)

    def write(self) -> Path:
        """Write everything, into what there is at the path, if anything; return the path."""
        rows = dict(self._rows)
        rows["StringIds"] = [{"id": i, "value": text} for text, i in self._strings.items()]
        with closing(sqlite3.connect(self.path)) as connection, connection:
            for table, values in rows.items():
                if table in SCHEMA:
                    connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({SCHEMA[table]})")
                insert_rows(connection, table, values)
        return self.path

    def _named(self, table: str, name: str, start: int, end: int, row: Row) -> Export:
        return self.add(table, start=start, end=end, nameId=self.text(name), **row)


def insert_rows(connection: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    """Insert rows; columns of the table that may not be null and are not given become 0."""
    info = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
    needed = {name: 0 for _, name, _, not_null, default, key in info if not_null and not key}
    for row in rows:
        known = {name: value for name, value in row.items() if name in {row[1] for row in info}}
        whole = needed | known
        columns = ", ".join(f'"{name}"' for name in whole)
        marks = ", ".join("?" for _ in whole)
        connection.execute(
            f'INSERT INTO "{table}" ({columns}) VALUES ({marks})', tuple(whole.values())
        )
