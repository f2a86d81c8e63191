"""How fast a report of ten million events becomes numbers, beside `nsys stats` and its parsing."""

from __future__ import annotations

import resource
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import adbc_driver_sqlite.dbapi as adbc
import polars as pl
import pytest

from tests.integration.profiles.nsys_stats import find_nsys, nsys_stats
from tests.unit.profiles.exports import PROCESS, SCHEMA

EVENTS = 10_000_000
MAX_SECONDS = 5.0
"""From parquet to numbers; 2.1 s on two cores of an EPYC with others at work, from SQLite 6.6 s,
and 48 s by `nsys stats` (November 2026)."""
MAX_RESIDENT_BYTES = 1.5e9
"""Of the whole process; 0.9 GB there, from SQLite 1.3 GB."""
MIN_RATIO = 10.0
REPORTS = ("cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "osrt_sum")
NAMES = (
    "cudaLaunchKernel_v7000",
    "cudaMemcpyAsync_v3020",
    "cudaStreamSynchronize_v3020",
    "cudaEventRecord_v3020",
    "gemm",
    "elementwise",
    "batch_norm",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "poll",
    "read",
)
READ = """
import resource, sys, time
from pathlib import Path
from gpubench.profiles import read_profile
start = time.perf_counter()
profile = read_profile({0: Path(sys.argv[1])}, Path(sys.argv[2]))
seconds = time.perf_counter() - start
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, profile.events)
"""


def noise(count: int, seed: int, low: int, high: int) -> pl.Series:
    """Return numbers from `low` up to `high`, the same at every run."""
    return (pl.int_range(count, eager=True).hash(seed) % (high - low)).cast(pl.Int64) + low


def events(count: int) -> dict[str, pl.DataFrame]:
    """Return the tables of a training: calls, kernels, copies and what the system did."""
    kernels, calls, copies = count * 40 // 100, count * 45 // 100, count * 5 // 100
    system = count - kernels - calls - copies
    number = pl.int_range(kernels, eager=True)
    kernel = pl.DataFrame({"start": number * 5000 + noise(kernels, 1, 0, 500)}).with_columns(
        end=pl.col("start") + noise(kernels, 2, 800, 20_000),
        shortName=noise(kernels, 3, 5, 9),
        demangledName=noise(kernels, 3, 5, 9),
        correlationId=number + 1,
        globalPid=PROCESS,
    )
    number = pl.int_range(calls, eager=True)
    launches = pl.Series([1]).extend_constant(1, calls - 1)
    call = pl.DataFrame({"start": number * 4400 + noise(calls, 4, 0, 400)}).with_columns(
        end=pl.col("start") + noise(calls, 5, 500, 4000),
        nameId=launches.zip_with(number < kernels, noise(calls, 6, 2, 5)),
        correlationId=number + 1,
        globalTid=PROCESS + 1,
    )
    number = pl.int_range(copies, eager=True)
    copy = pl.DataFrame({"start": number * 40_000 + noise(copies, 7, 0, 400)}).with_columns(
        end=pl.col("start") + noise(copies, 8, 1000, 30_000),
        bytes=noise(copies, 9, 4, 100_000),
        copyKind=noise(copies, 10, 1, 3),
        srcKind=noise(copies, 11, 0, 2),
        correlationId=number + 1 + kernels,
        globalPid=PROCESS,
    )
    number = pl.int_range(system, eager=True)
    waits = pl.DataFrame({"start": number * 20_000}).with_columns(
        end=pl.col("start") + noise(system, 12, 1000, 300_000),
        nameId=noise(system, 13, 9, 11),
        eventClass=27,
        globalTid=PROCESS + 1,
    )
    strings = pl.DataFrame({"id": range(1, len(NAMES) + 1), "value": NAMES})
    return {
        "StringIds": strings,
        "CUPTI_ACTIVITY_KIND_KERNEL": kernel,
        "CUPTI_ACTIVITY_KIND_RUNTIME": call,
        "CUPTI_ACTIVITY_KIND_MEMCPY": copy,
        "OSRT_API": waits,
    }


def whole_rows(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with every column that nsys writes, 0 where there is nothing to say."""
    columns = [declaration.split()[0] for declaration in SCHEMA[table].split(", ")]
    known = [pl.col(name) if name in rows.columns else pl.lit(0).alias(name) for name in columns]
    return rows.select(known)


@pytest.fixture(scope="module")
def nsys() -> Path:
    """Return the nsys that is measured beside."""
    return find_nsys()


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory, nsys: Path) -> tuple[Path, Path]:
    """Return the same report as parquet and as SQLite that this nsys reads."""
    folder = tmp_path_factory.mktemp("exports")
    parquet, sqlite = folder / "parquet", folder / "report.sqlite"
    parquet.mkdir()
    program = "import time; time.sleep(0.01)"
    report = folder / "small.nsys-rep"
    record = [nsys, "profile", "--trace=osrt,nvtx", "--sample=none", "--cpuctxsw=none"]
    record += [f"--output={report}", sys.executable, "-c", program]
    export = [nsys, "export", "--type=sqlite", "--lazy=true", f"--output={sqlite}", report]
    for command in (record, export):
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
    tables = events(EVENTS)
    with closing(sqlite3.connect(sqlite)) as made, made:
        for table in tables:
            made.execute(f"DROP TABLE IF EXISTS {table}")
            made.execute(f"CREATE TABLE {table} ({SCHEMA[table]})")
        made.execute("DROP TABLE IF EXISTS ENUM_CUDA_MEMCPY_OPER")
        made.execute("CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, label TEXT)")
        made.executemany(
            "INSERT INTO ENUM_CUDA_MEMCPY_OPER (id, label) VALUES (?, ?)",
            [(1, "Host-to-Device"), (2, "Device-to-Host")],
        )
    with closing(adbc.connect(str(sqlite))) as connection:
        for table, rows in tables.items():
            whole = whole_rows(table, rows)
            whole.write_parquet(parquet / f"{table}.parquet", row_group_size=1_000_000)
            with closing(connection.cursor()) as cursor:
                cursor.adbc_ingest(table, whole, mode="append")
            connection.commit()
    return parquet, sqlite


def measure(export: Path, scratch: Path) -> tuple[float, float, int]:
    """Return seconds, peak of resident bytes and events of a reading in a process of its own."""
    command = [sys.executable, "-c", READ, str(export), str(scratch)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, resident, counted = done.stdout.split()
    return float(seconds), float(resident), int(counted)


@pytest.mark.timeout(1800)
def test_ten_million_events(nsys: Path, exports: tuple[Path, Path], tmp_path: Path) -> None:
    parquet, sqlite = exports
    best: dict[str, tuple[float, float]] = {}
    for form, export in (("parquet", parquet), ("sqlite", sqlite)):
        tries = [measure(export, tmp_path) for _ in range(2)]
        assert {counted for _, _, counted in tries} == {EVENTS}
        best[form] = min((seconds, resident) for seconds, resident, _ in tries)
    start = time.perf_counter()
    lines = [line for report in REPORTS for line in nsys_stats(nsys, sqlite, report)]
    stats_seconds = time.perf_counter() - start
    stats_resident = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert sum(line.calls for line in lines) == EVENTS
    for form, (seconds, resident) in best.items():
        print(f"{form}: {seconds:.2f} s, {resident / 1e9:.2f} GB, {EVENTS:,} events")
    print(
        f"nsys stats and its parsing: {stats_seconds:.2f} s (largest child {stats_resident:.3g} B)"
    )
    ratios = {form: stats_seconds / seconds for form, (seconds, _) in best.items()}
    print(f"times as fast: parquet {ratios['parquet']:.1f}, sqlite {ratios['sqlite']:.1f}")
    seconds, resident = best["parquet"]
    assert seconds < MAX_SECONDS
    assert resident < MAX_RESIDENT_BYTES
    assert best["sqlite"][1] < MAX_RESIDENT_BYTES
    assert ratios["parquet"] >= MIN_RATIO
