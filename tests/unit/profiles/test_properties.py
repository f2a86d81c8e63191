"""Idle, overlap, exposed time and percentiles against the simplest way to reckon them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.api.profile import GpuActivity
from gpubench.profiles import intervals, read_profile, tally
from gpubench.profiles.intervals import Cover
from gpubench.profiles.tally import Tally, summarize
from tests.unit.profiles.exports import PROCESS, Export

Interval = tuple[int, int]
TIMES = st.integers(0, 60)
INTERVALS = st.lists(
    st.tuples(TIMES, st.integers(0, 20)).map(lambda pair: (pair[0], pair[0] + pair[1])), max_size=12
)


def frame(found: Iterable[Interval]) -> pl.DataFrame:
    return pl.DataFrame(list(found), schema={"start": pl.Int64, "end": pl.Int64}, orient="row")


def moments(found: Iterable[Interval]) -> set[int]:
    """Return every nanosecond that an interval covers."""
    return {moment for start, end in found for moment in range(start, end)}


@given(INTERVALS, INTERVALS, st.integers(1, 5))
def test_cover_is_the_set_of_its_moments(
    first: list[Interval], second: list[Interval], batch: int
) -> None:
    one, other = Cover(), Cover([frame(second)])
    for place in range(0, len(first), batch):
        one.add(frame(first[place : place + batch]))
    assert one.length() == len(moments(first))
    assert one.length_without(other) == len(moments(first) - moments(second))
    assert one.length_shared(other) == len(moments(first) & moments(second))
    pieces = one.pieces().rows()
    assert moments(pieces) == moments(first)
    assert all(left[1] < right[0] for left, right in pairwise(pieces))


def test_intervals_that_wait_are_merged_when_they_become_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intervals, "MOST_WAITING", 3)
    cover = Cover()
    for start in range(0, 100, 2):
        cover.add(frame([(start, start + 1), (start, start + 2)]))
    assert cover.pieces().rows() == [(0, 100)]


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["gemm", "ncclDevKernel_AllGather_RING_LL", "copy", "memset"]),
        TIMES,
        st.integers(0, 20),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=15,
)


def activity_of(operations: list[tuple[str, int, int, int]]) -> tuple[GpuActivity | None, int]:
    """Return what gpubench says of operations, and the length of its window."""
    with TemporaryDirectory() as folder:
        export = Export(Path(folder) / "made.sqlite")
        for what, start, duration, process in operations:
            end, own = start + duration, PROCESS + (process << 24)
            if what == "copy":
                export.copy(8, start, end, 1, globalPid=own)
            elif what == "memset":
                export.memset(start, end, 1, globalPid=own)
            else:
                export.kernel(what, start, end, globalPid=own)
        profile = read_profile({0: export.write()}, Path(folder))
    return profile.activity, round(profile.window.seconds * 1e9)


@settings(deadline=None, max_examples=60)
@given(OPERATIONS)
def test_activity_is_what_a_look_at_every_moment_tells(
    operations: list[tuple[str, int, int, int]],
) -> None:
    activity, window = activity_of(operations)
    assert activity is not None
    busy = shared = compute = communication = copying = beside = 0
    processes = {process for *_, process in operations}
    for process in processes:
        own = {
            kind: moments(
                (s, s + d) for what, s, d, by in operations if what == kind and by == process
            )
            for kind in ("gemm", "ncclDevKernel_AllGather_RING_LL", "copy", "memset")
        }
        talking = own["ncclDevKernel_AllGather_RING_LL"]
        busy += len(set().union(*own.values()))
        compute += len(own["gemm"])
        communication += len(talking)
        shared += len(talking & own["gemm"])
        copying += len(own["copy"])
        beside += len(own["copy"] & own["gemm"])
    assert activity.gpus == len(processes)
    assert activity.busy_seconds * 1e9 == pytest.approx(busy)
    assert activity.compute_seconds * 1e9 == pytest.approx(compute)
    assert activity.communication_seconds * 1e9 == pytest.approx(communication)
    assert activity.exposed_communication_seconds * 1e9 == pytest.approx(communication - shared)
    assert activity.copy_seconds * 1e9 == pytest.approx(copying)
    if communication:
        assert activity.communication_overlap == pytest.approx(shared / communication)
    if copying:
        assert activity.copy_overlap == pytest.approx(beside / copying)
    idle = 1 - busy / window / len(processes) if window else 0.0
    assert activity.idle_share == pytest.approx(idle, abs=1e-9)


def percentile(values: list[int], share: float) -> float:
    """Return a percentile with linear interpolation, the slow way."""
    ordered = sorted(values)
    position = (len(ordered) - 1) * share
    below, above = ordered[math.floor(position)], ordered[math.ceil(position)]
    return below + (above - below) * (position - math.floor(position))


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), min_size=1, max_size=40),
    st.integers(1, 7),
)
def test_a_tally_of_batches_has_the_statistics_of_all_events(
    events: list[tuple[str, int]], batch: int
) -> None:
    counted = Tally(["name"])
    for place in range(0, len(events), batch):
        part = events[place : place + batch]
        rows = [(name, 100, 100 + duration, 3) for name, duration in part]
        counted.add(pl.DataFrame(rows, schema=["name", "start", "end", "bytes"], orient="row"))
    counts = counted.counts()
    assert counts is not None
    found = {row["name"]: row for row in summarize(counts, ["name"]).iter_rows(named=True)}
    for name in {name for name, _ in events}:
        durations = [duration for other, duration in events if other == name]
        assert found[name]["calls"] == len(durations)
        assert found[name]["total"] == sum(durations)
        assert found[name]["bytes"] == 3 * len(durations)
        assert (found[name]["min"], found[name]["max"]) == (min(durations), max(durations))
        assert found[name]["p50"] == pytest.approx(median(durations))
        assert found[name]["p99"] == pytest.approx(percentile(durations, 0.99))


def test_a_tally_adds_up_when_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "MOST_WAITING", 2)
    counted = Tally([])
    for duration in (1, 2, 3) * 5:
        counted.add(frame([(0, duration)]))
    counts = counted.counts()
    assert counts is not None
    assert sorted(counts.select("duration", "calls").rows()) == [(1, 5), (2, 5), (3, 5)]
