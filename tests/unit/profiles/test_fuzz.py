"""Damaged reports end in an error, or in numbers that say that they are partial, or in true ones.

`GPUBENCH_FUZZ=10000` tries that many; by default some hundred are tried, which takes seconds.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gpubench.profiles import ProfileError, read_profile
from tests.unit.profiles.mutations import (
    as_parquet,
    damaged_file,
    odd_parquet,
    odd_tables,
    odd_trace,
    sound_export,
)
from tests.unit.profiles.plain_reading import read_plainly

TRIES = int(os.environ.get("GPUBENCH_FUZZ", "300"))
SHARDS = 4
LONGEST_READING_SECONDS = 60
Way = Callable[[Path, random.Random], Path]


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> list[Way]:
    """Return every way to make a damaged report in a folder."""
    folder = tmp_path_factory.mktemp("sound")
    export = sound_export(folder / "sound.sqlite")
    parquet = as_parquet(export, folder / "sound")
    return [
        lambda to, chosen: damaged_file(export, to / "rank-0.sqlite", chosen),
        lambda to, chosen: odd_tables(export, to / "rank-0.sqlite", chosen),
        lambda to, chosen: odd_parquet(parquet, to / "rank-0", chosen),
        lambda to, chosen: odd_trace(to / "rank-0.kineto.json", chosen),
        lambda to, chosen: odd_trace(to / "rank-0.kineto.json.gz", chosen),
    ]


def outcome(report: Path, scratch: Path) -> str:
    """Read a report and say how it ended; numbers without a note must be the plain reading's."""
    try:
        profile = read_profile({0: report}, scratch)
    except ProfileError as error:
        return "error" if "\n" not in str(error) else "an error of several lines"
    plain = read_plainly(report)
    if profile.notes:
        return "partial"
    assert plain is not None, "a damaged report was read without a word"
    found = {
        family: (numbers.calls, round(numbers.total_seconds * 1e9))
        for family, numbers in profile.families.items()
    }
    assert found == plain
    return "true"


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_damaged_reports(
    ways: list[Way], tmp_path: Path, shard: int, capfd: pytest.CaptureFixture[str]
) -> None:
    ends: Counter[str] = Counter()
    for seed in range(shard, TRIES, SHARDS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        report = ways[seed % len(ways)](folder, random.Random(seed))
        try:
            ends[outcome(report, tmp_path)] += 1
        except BaseException as error:
            error.add_note(f"seed {seed}, report {report}")
            raise
    capfd.readouterr()  # polars tells its panics there
    assert set(ends) == {"error", "partial", "true"}
