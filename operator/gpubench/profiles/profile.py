"""From the numbers of all ranks to the profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from gpubench.api.enums import Family, ProfiledKind
from gpubench.api.measurements import Distribution
from gpubench.api.profile import (
    CopyStatistics,
    FamilyStatistics,
    GpuActivity,
    NameStatistics,
    PhaseStatistics,
    Profile,
    ProfileWindow,
)
from gpubench.profiles.errors import ProfileError
from gpubench.profiles.families import has_family
from gpubench.profiles.gpus import GpuCover
from gpubench.profiles.phases import PHASE_DOMAIN, WINDOW_RANGE
from gpubench.profiles.reduction import RankNumbers
from gpubench.profiles.tally import summarize

NANOSECONDS = 1e9
PAGEABLE, PINNED = 0, 1
"""Kinds of host memory, as CUPTI numbers them."""


def make_profile(ranks: Mapping[int, RankNumbers], *, most_names: int | None) -> Profile:
    """Return the numbers of all ranks as one profile.

    Of kernels, unmapped names and foreign ranges only the `most_names` longest are listed, each.

    Raises:
        ProfileError: the reports are of different profilers.
    """
    numbers = [ranks[rank] for rank in sorted(ranks)]
    sources = {rank.source for rank in numbers}
    if len(sources) > 1:
        msg = f"reports of different profilers: {' and '.join(sorted(sources))}"
        raise ProfileError(msg)
    counts = _of_all_ranks(numbers)
    seconds = sum(rank.window.length for rank in numbers) / NANOSECONDS
    activity = _activity(numbers)
    lists = _NameLists(counts, most_names)
    return Profile(
        source=sources.pop(),
        version=_common(rank.version for rank in numbers),
        schema_version=_common(rank.schema_version for rank in numbers),
        window=ProfileWindow(seconds=seconds / len(numbers)),
        events=sum(rank.events for rank in numbers),
        families=_families(counts, seconds, len(numbers)),
        idle_share=activity.idle_share if activity else None,
        activity=activity,
        launch_latency=_latency(numbers),
        phases=_phases(counts, seconds, _phase_times(numbers)),
        kernels=lists.of(pl.col("kind") == ProfiledKind.KERNEL),
        unmapped=lists.unmapped(),
        ranges=lists.of(_IS_RANGE & ~_IS_OWN),
        names_left_out=lists.left_out,
        missing=_told(ranks, lambda rank: rank.missing),
        notes=_told(ranks, lambda rank: rank.notes),
    )


_IS_RANGE = pl.col("kind") == ProfiledKind.RANGE
_IS_OWN = (pl.col("domain") == PHASE_DOMAIN).fill_null(False)


def _of_all_ranks(numbers: Sequence[RankNumbers]) -> pl.DataFrame:
    return pl.concat(
        rank.counts.with_columns(pl.lit(place).alias("rank")) for place, rank in enumerate(numbers)
    )


def _common(versions: Iterable[str | None]) -> str | None:
    known = sorted({version for version in versions if version})
    return ", ".join(known) or None


def _told(ranks: Mapping[int, RankNumbers], what: Any) -> list[str]:
    """Return what is told of any rank, with the ranks where it is not told of all."""
    told: dict[str, list[int]] = {}
    for rank in sorted(ranks):
        for text in what(ranks[rank]):
            told.setdefault(text, []).append(rank)
    return [
        text if len(by) == len(ranks) else f"{text} (rank {', '.join(map(str, by))})"
        for text, by in told.items()
    ]


def _durations(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `EventStatistics` for a row of `summarize`."""
    return {
        "calls": row["calls"],
        "total_seconds": row["total"] / NANOSECONDS,
        "mean_seconds": row["total"] / row["calls"] / NANOSECONDS,
        "min_seconds": row["min"] / NANOSECONDS,
        "p50_seconds": row["p50"] / NANOSECONDS,
        "p99_seconds": row["p99"] / NANOSECONDS,
        "max_seconds": row["max"] / NANOSECONDS,
    }


def _families(counts: pl.DataFrame, seconds: float, ranks: int) -> dict[Family, FamilyStatistics]:
    grouped = counts.filter(~_IS_RANGE)
    by_rank = _by_rank(grouped)
    memory = {
        (row["family"], row["memory"]): _copies(row)
        for row in summarize(
            grouped.filter(pl.col("memory").is_not_null()), ["family", "memory"]
        ).iter_rows(named=True)
    }
    found = {
        row["family"]: FamilyStatistics(
            **_durations(row),
            share=row["total"] / NANOSECONDS / seconds if seconds else 0.0,
            rank_total_seconds=[by_rank.get((row["family"], r), (0, 0.0))[1] for r in range(ranks)],
            rank_calls=[by_rank.get((row["family"], r), (0, 0.0))[0] for r in range(ranks)],
            copies=_copies(row) if _moves_bytes(row["family"]) else None,
            pageable=memory.get((row["family"], PAGEABLE)),
            pinned=memory.get((row["family"], PINNED)),
        )
        for row in summarize(grouped, ["family"]).iter_rows(named=True)
    }
    return {family: found[family] for family in Family if family in found}


def _by_rank(counts: pl.DataFrame) -> dict[tuple[str, int], tuple[int, float]]:
    totals = counts.group_by("family", "rank").agg(
        pl.col("calls").sum(),
        (pl.col("duration").cast(pl.Int128) * pl.col("calls")).sum().alias("total"),
    )
    return {
        (family, rank): (calls, total / NANOSECONDS)
        for family, rank, calls, total in totals.iter_rows()
    }


def _moves_bytes(family: str) -> bool:
    return family.startswith("memcpy") or family == Family.MEMSET


def _copies(row: Mapping[str, Any]) -> CopyStatistics:
    seconds = row["total"] / NANOSECONDS
    return CopyStatistics(
        calls=row["calls"],
        total_seconds=seconds,
        total_bytes=row["bytes"],
        bytes_per_second=row["bytes"] / seconds if seconds else None,
    )


def _activity(numbers: Sequence[RankNumbers]) -> GpuActivity | None:
    covers = [(rank, cover) for rank in numbers for cover in rank.gpus.covers.values()]
    if not covers:
        return None
    idle = [1 - _share(cover.busy().length(), rank.window.length) for rank, cover in covers]
    communication = sum(cover.communication.length() for _, cover in covers)
    shared = sum(cover.communication.length_shared(cover.compute) for _, cover in covers)
    copying = sum(cover.copying.length() for _, cover in covers)
    copied_beside = sum(cover.copying.length_shared(cover.compute) for _, cover in covers)
    return GpuActivity(
        gpus=len(covers),
        busy_seconds=_seconds(covers, lambda cover: cover.busy().length()),
        idle_share=sum(idle) / len(idle),
        compute_seconds=_seconds(covers, lambda cover: cover.compute.length()),
        communication_seconds=communication / NANOSECONDS,
        exposed_communication_seconds=(communication - shared) / NANOSECONDS,
        communication_overlap=shared / communication if communication else None,
        copy_seconds=copying / NANOSECONDS,
        copy_overlap=copied_beside / copying if copying else None,
    )


def _seconds(covers: Sequence[tuple[RankNumbers, GpuCover]], length: Any) -> float:
    return float(sum(length(cover) for _, cover in covers) / NANOSECONDS)


def _share(part: int, whole: int) -> float:
    # The last operation may outlast the window.
    return min(part / whole, 1.0) if whole else 1.0


def _latency(numbers: Sequence[RankNumbers]) -> Distribution | None:
    latencies = pl.concat(rank.latencies for rank in numbers)["latency"]
    found = latencies.sort() / NANOSECONDS
    if found.is_empty():
        return None

    def at(share: float) -> float:
        value = found.quantile(share, "linear")
        assert value is not None
        return value

    mean, std = found.mean(), found.std() or 0.0
    # polars types the mean of any series, of dates too; these are seconds.
    assert isinstance(mean, float)
    assert isinstance(std, float)
    return Distribution(
        count=found.len(),
        mean=mean,
        std=std,
        minimum=at(0),
        p50=at(0.5),
        p95=at(0.95),
        p99=at(0.99),
        maximum=at(1),
    )


def _phase_times(numbers: Sequence[RankNumbers]) -> Counter[str]:
    times: Counter[str] = Counter()
    for rank in numbers:
        times.update(rank.phase_times)
    return times


def _phases(
    counts: pl.DataFrame, seconds: float, on_gpu: Mapping[str, int]
) -> list[PhaseStatistics]:
    own = counts.filter(_IS_RANGE & _IS_OWN & (pl.col("name") != WINDOW_RANGE))
    rows = summarize(own, ["name"]).sort("total", descending=True)
    return [
        PhaseStatistics(
            name=row["name"],
            share=row["total"] / NANOSECONDS / seconds if seconds else 0.0,
            gpu_seconds=on_gpu[row["name"]] / NANOSECONDS if row["name"] in on_gpu else None,
            **_durations(row),
        )
        for row in rows.iter_rows(named=True)
    ]


class _NameLists:
    """Lists of names, longest total first, of which only so many are given."""

    def __init__(self, counts: pl.DataFrame, most: int | None) -> None:
        self._counts = counts
        self._most = most
        self.left_out = 0

    def of(self, which: pl.Expr) -> list[NameStatistics]:
        tagged = self._counts.filter(which).with_columns(
            pl.concat_str("domain", "name", separator=":", ignore_nulls=True).alias("name")
        )
        return self._listed(tagged)

    def unmapped(self) -> list[NameStatistics]:
        names = self._counts.filter(
            pl.col("kind").is_in([ProfiledKind.API, ProfiledKind.OS_RUNTIME])
        )
        unknown = [
            (kind, name)
            for kind, name in names.select("kind", "name").unique().iter_rows()
            if not has_family(ProfiledKind(kind), name)
        ]
        table = pl.DataFrame(unknown, schema={"kind": pl.String, "name": pl.String}, orient="row")
        return self._listed(names.join(table, on=["kind", "name"], how="semi"))

    def _listed(self, counts: pl.DataFrame) -> list[NameStatistics]:
        rows = summarize(counts, ["kind", "family", "name"])
        ordered = rows.sort(["total", "name"], descending=[True, False])
        given = ordered if self._most is None else ordered.head(self._most)
        self.left_out += ordered.height - given.height
        return [
            NameStatistics(
                name=row["name"], kind=row["kind"], family=row["family"], **_durations(row)
            )
            for row in given.iter_rows(named=True)
        ]
