"""Reports with something wrong in them, at random but the same for the same seed."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

from tests.unit.profiles.exports import Export

ODD_VALUES: tuple[Any, ...] = (
    None, -1, 0, 2**31, 2**62, 2**63 - 1, -(2**63), 1.5, float("inf"), "text", "", b"\xff\x00",
    True, "cudaFree", [], {},
)  # fmt: skip
TABLE_OF_EVENTS = (
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "OSRT_API",
    "NVTX_EVENTS",
)


def sound_export(path: Path) -> Path:
    """Write an export with some rows in every table."""
    export = Export(path).domain("gpubench", 3).domain("NCCL", 4)
    for number in range(40):
        start = number * 1000
        export.call(
            f"cudaLaunchKernel_v{7000 + number % 2}", start, start + 50, correlationId=number
        )
        export.call("cudaStreamSynchronize_v3020", start + 100, start + 400)
        export.kernel("gemm", start + 60, start + 300, correlationId=number)
        export.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", start + 200, start + 500)
        export.copy(1 + number % 3, start, start + 70, 4096, srcKind=number % 2)
        export.memset(start + 600, start + 620, 64)
        export.os_call(("poll", "read")[number % 2], start, start + 900)
        export.range(("forward", "backward")[number % 2], start, start + 800, domain=3)
        export.range(f"aten::mm, seq = {number}", start, start + 30)
    return export.write()


def as_parquet(export: Path, folder: Path) -> Path:
    """Write the tables of an export as parquet files."""
    folder.mkdir()
    with closing(sqlite3.connect(export)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        for (table,) in tables:
            cursor = connection.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in cursor.description]
            rows = pl.DataFrame(cursor.fetchall(), schema=names, orient="row")
            rows.write_parquet(folder / f"{table}.parquet")
    return folder


def sound_trace() -> dict[str, Any]:
    """Return a trace of torch with events of every kind."""
    events: list[dict[str, Any]] = []

    def add(category: str, name: str, start: float, **args: Any) -> None:
        event = {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 1, "ts": start}
        events.append(event | {"dur": 4.25, "args": args})

    for number in range(30):
        start = number * 10.5
        add("cuda_runtime", "cudaLaunchKernel", start, correlation=number)
        add("kernel", "gemm", start + 3, correlation=number, device=0)
        add("kernel", "ncclDevKernel_AllGather_RING_LL(x)", start + 5, device=0)
        add("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", start, bytes=10, device=0)
        add("gpu_memset", "Memset (Device)", start + 1, bytes=10, device=0)
        add("user_annotation", "forward", start)
        add("cpu_op", "aten::mm", start)
    return {"schemaVersion": 1, "traceEvents": events}


def damaged_bytes(content: bytes, chosen: random.Random) -> bytes:
    """Return the bytes with some changed, cut off, repeated or blanked."""
    found = bytearray(content)
    place = chosen.randrange(len(found))
    length = min(chosen.choice((1, 4, 100, 4096)), len(found) - place)
    way = chosen.randrange(6)
    if way == 0:
        return bytes(found[:place])
    if way == 1:
        found[place : place + length] = bytes(length)
    elif way == 2:
        found[place:place] = found[place : place + length]
    elif way == 3:
        del found[place : place + length]
    else:
        for _ in range(chosen.choice((1, 3, 20))):
            found[chosen.randrange(len(found))] = chosen.randrange(256)
    return bytes(found)


def damaged_file(sound: Path, target: Path, chosen: random.Random) -> Path:
    """Copy a file with bytes that are wrong."""
    target.write_bytes(damaged_bytes(sound.read_bytes(), chosen))
    return target


def odd_tables(sound: Path, target: Path, chosen: random.Random) -> Path:
    """Copy a SQLite export with tables, columns or values that are not as they should be."""
    shutil.copyfile(sound, target)
    with closing(sqlite3.connect(target)) as connection, connection:
        for _ in range(chosen.choice((1, 2, 5))):
            table = chosen.choice((*TABLE_OF_EVENTS, "StringIds"))
            try:
                _change_table(connection, table, chosen)
            except sqlite3.Error:
                continue  # it is gone already, or the change is one that SQLite refuses
    return target


def _change_table(connection: sqlite3.Connection, table: str, chosen: random.Random) -> None:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    column = chosen.choice(columns or ["gone"])
    value = chosen.choice([odd for odd in ODD_VALUES if not isinstance(odd, list | dict)])
    way = chosen.randrange(7)
    if way == 0:
        connection.execute(f"DROP TABLE {table}")
    elif way == 1:
        connection.execute(f'ALTER TABLE {table} RENAME COLUMN "{column}" TO other')
    elif way == 2:
        connection.execute(f"DELETE FROM {table} WHERE rowid % 3 = 0")
    else:
        # The table is made anew, without constraints or types, or SQLite would refuse.
        connection.execute(f"CREATE TABLE odd AS SELECT * FROM {table}")
        connection.execute(f"DROP TABLE {table}")
        connection.execute(f"ALTER TABLE odd RENAME TO {table}")
        some = "" if way == 3 else f"WHERE rowid = {chosen.randrange(1, 40)}"
        connection.execute(f'UPDATE {table} SET "{column}" = ? {some}', (value,))


def odd_parquet(sound: Path, target: Path, chosen: random.Random) -> Path:
    """Copy a folder of parquet files with files, columns or values that are wrong."""
    shutil.copytree(sound, target)
    path = target / f"{chosen.choice((*TABLE_OF_EVENTS, 'StringIds'))}.parquet"
    way = chosen.randrange(5)
    if way == 0:
        path.unlink()
    elif way == 1:
        path.write_bytes(damaged_bytes(path.read_bytes(), chosen))
    else:
        table = pl.read_parquet(path)
        column = chosen.choice(table.columns)
        changes: tuple[Callable[[], pl.DataFrame], ...] = (
            lambda: table.drop(column),
            lambda: table.with_columns(pl.col(column).cast(pl.String)),
            lambda: table.with_columns(pl.lit(None).alias(column)),
            lambda: table.with_columns(-pl.col(column)),
            lambda: table.with_columns(pl.col(column).cast(pl.Float64) + 0.5),
            lambda: table.with_columns(pl.col(column).cast(pl.UInt64) + 2**63),
            lambda: table.with_columns(pl.concat_list(column).alias(column)),
        )
        try:
            changed = chosen.choice(changes)()
        except pl.exceptions.PolarsError:
            return target  # of text there is no negative
        changed.write_parquet(path)
    return target


def odd_trace(target: Path, chosen: random.Random) -> Path:
    """Write a trace with values that are not as they should be, or bytes that are wrong."""
    document = sound_trace()
    if chosen.random() < 0.5:
        for _ in range(chosen.choice((1, 5, 50))):
            event = chosen.choice(document["traceEvents"])
            values = [odd for odd in ODD_VALUES if not isinstance(odd, bytes)]
            event[chosen.choice(("ph", "cat", "name", "ts", "dur", "args"))] = chosen.choice(values)
        content = json.dumps(document).encode()
    else:
        content = damaged_bytes(json.dumps(document).encode(), chosen)
    if target.suffix == ".gz":
        content = gzip.compress(content, compresslevel=1)
        if chosen.random() < 0.3:
            content = damaged_bytes(content, chosen)
    target.write_bytes(content)
    return target
