"""What `nsys stats` says of an export: the truth that families are held against."""

from __future__ import annotations

import csv
import io
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

FETCH_NSYS = Path(__file__).parents[3] / "scripts" / "fetch_nsys.sh"


def missing(reason: str) -> Path:
    """End a test that cannot run: in CI that is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def find_nsys() -> Path:
    """Return the nsys of the tests, which is fetched if it is not there yet."""
    done = subprocess.run([FETCH_NSYS], capture_output=True, text=True, check=False)
    if done.returncode:
        return missing(f"no Nsight Systems: {done.stderr.strip()}")
    return Path(done.stdout.strip())


@dataclass(frozen=True)
class Line:
    """One line of a report of `nsys stats`, times in nanoseconds."""

    name: str
    calls: int
    total: int
    shortest: int
    median: float
    longest: int


NAME_COLUMNS = ("Name", "Operation", "Range")
COUNT_COLUMNS = ("Num Calls", "Instances", "Count")


def nsys_stats(nsys: Path, path: Path, report: str) -> list[Line]:
    """Return the lines of a report on an export or recording; none where tables are absent."""
    command = [str(nsys), "stats", "--report", report]
    command += ["--format", "csv", "--output", "-", str(path)]
    if path.suffix != ".sqlite":
        # Or an old export beside the recording would be taken for it.
        command.insert(2, "--force-export=true")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    # Old ones end with 0 whatever happened.
    assert "error" not in done.stderr.lower(), done.stderr
    start = done.stdout.find("Time (%)")
    if start < 0:
        assert "SKIPPED" in done.stdout, done.stdout
        return []
    rows = csv.DictReader(io.StringIO(done.stdout[start:]))
    return [_line(row) for row in rows if row["Time (%)"]]


def _line(row: dict[str, str]) -> Line:
    return Line(
        name=next(row[column] for column in NAME_COLUMNS if column in row),
        calls=int(next(row[column] for column in COUNT_COLUMNS if column in row)),
        total=int(row["Total Time (ns)"]),
        shortest=int(row["Min (ns)"]),
        median=float(row["Med (ns)"]),
        longest=int(row["Max (ns)"]),
    )
