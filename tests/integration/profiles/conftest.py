"""Nsight Systems and real exports for these tests."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.profiles.nsys_stats import find_nsys, missing

ROOT = Path(__file__).parents[3]
REAL_EXPORTS = ROOT.parent / "shared" / "data" / "nsys"
PROGRAM = """
import threading, time
started = threading.Thread(target=time.sleep, args=(0.01,))
started.start(); started.join()
"""


@pytest.fixture(scope="session")
def nsys() -> Path:
    """Return the nsys of these tests."""
    return find_nsys()


@pytest.fixture(scope="session")
def recorded(nsys: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a real report of a small program without a GPU."""
    report = tmp_path_factory.mktemp("recorded") / "rank-0.nsys-rep"
    command = [str(nsys), "profile", "--trace=osrt,nvtx", "--sample=none", "--cpuctxsw=none"]
    command += [f"--output={report}", sys.executable, "-c", PROGRAM]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return report


@pytest.fixture(scope="session")
def every_table(nsys: Path, recorded: Path) -> Path:
    """Return an export of that report with every table that this nsys knows, empty or not."""
    export = recorded.with_name("every_table.sqlite")
    command = [str(nsys), "export", "--type=sqlite", "--lazy=false"]
    command += [f"--output={export}", str(recorded)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return export


@pytest.fixture(params=["h100_2gpu_1s", "cloverleaf"])
def real_export(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a real export of a GPU, copied: `nsys stats` adds views to what it reads."""
    source = REAL_EXPORTS / f"{request.param}.sqlite"
    if not source.exists():
        return missing(f"no {source.name} beside this checkout")
    target = tmp_path / source.name
    shutil.copyfile(source, target)
    return target


@pytest.fixture
def empty_export(every_table: Path, tmp_path: Path) -> Path:
    """Return an export with every table, for rows to be added, and without events."""
    target = tmp_path / "made.sqlite"
    shutil.copyfile(every_table, target)
    with closing(sqlite3.connect(target)) as connection, connection:
        for table in ("OSRT_API", "NVTX_EVENTS"):
            connection.execute(f"DELETE FROM {table}")
    return target
