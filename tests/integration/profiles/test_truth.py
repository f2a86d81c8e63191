"""Every family's calls and totals are those of `nsys stats`, to the nanosecond."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from gpubench.api.enums import Family, ProfiledKind
from gpubench.profiles import read_profile
from gpubench.profiles.families import copy_family, family_of, plain_name
from gpubench.profiles.reading import open_trace
from gpubench.profiles.reduction import reduce_trace
from gpubench.profiles.tally import summarize
from tests.integration.profiles.nsys_stats import Line, nsys_stats

COPY_FAMILIES = {
    "[CUDA memset]": Family.MEMSET,
    "[CUDA memcpy Host-to-Device]": copy_family(1),
    "[CUDA memcpy Device-to-Host]": copy_family(2),
    "[CUDA memcpy Device-to-Device]": copy_family(8),
    "[CUDA memcpy Peer-to-Peer]": copy_family(10),
}
REPORTS = {
    "cuda_api_sum": ProfiledKind.API,
    "cuda_gpu_kern_sum:base": ProfiledKind.KERNEL,
    "cuda_gpu_mem_time_sum": ProfiledKind.COPY,
    "osrt_sum": ProfiledKind.OS_RUNTIME,
}


def family_told(report: str, line: Line) -> Family:
    kind = REPORTS[report]
    if kind is ProfiledKind.COPY:
        return COPY_FAMILIES.get(line.name, Family.MEMCPY_OTHER)
    return family_of(kind, line.name)


def families_told(nsys: Path, export: Path) -> dict[Family, tuple[int, int]]:
    """Return calls and nanoseconds of each family, added up from what `nsys stats` says."""
    calls: Counter[Family] = Counter()
    totals: Counter[Family] = Counter()
    for report in REPORTS:
        for line in nsys_stats(nsys, export, report):
            calls[family_told(report, line)] += line.calls
            totals[family_told(report, line)] += line.total
    return {family: (calls[family], totals[family]) for family in calls}


def families_found(export: Path, tmp_path: Path) -> dict[Family, tuple[int, int]]:
    profile = read_profile({0: export}, tmp_path)
    assert profile.notes == []
    return {
        family: (numbers.calls, round(numbers.total_seconds * 1e9))
        for family, numbers in profile.families.items()
        if family not in {Family.CUDNN, Family.CUBLAS}
    }


def test_real_exports(nsys: Path, real_export: Path, tmp_path: Path) -> None:
    found = families_found(real_export, tmp_path)
    assert len(found) >= 10
    assert found == families_told(nsys, real_export)


def test_names_have_the_extremes_and_medians_of_nsys(nsys: Path, real_export: Path) -> None:
    counts = reduce_trace(open_trace(real_export)).counts
    rows = summarize(counts, ["kind", "name"]).iter_rows(named=True)
    found = {(row["kind"], row["name"]): row for row in rows}
    compared = 0
    for report in ("cuda_gpu_kern_sum:base", "cuda_gpu_mem_time_sum", "osrt_sum", "cuda_api_sum"):
        for line in nsys_stats(nsys, real_export, report):
            kind = ProfiledKind.MEMSET if line.name == "[CUDA memset]" else REPORTS[report]
            name = plain_name(line.name) if kind is ProfiledKind.API else line.name
            ours = found[kind.value, name]
            assert (ours["calls"], int(ours["total"])) == (line.calls, line.total)
            assert (ours["min"], ours["max"]) == (line.shortest, line.longest)
            assert ours["p50"] == pytest.approx(line.median, abs=0.06)
            compared += 1
    assert compared > 20


def test_ranges(nsys: Path, tmp_path: Path, real_export: Path) -> None:
    profile = read_profile({0: real_export}, tmp_path, most_names=None)
    found = {line.name: (line.calls, round(line.total_seconds * 1e9)) for line in profile.ranges}
    told: dict[str, tuple[int, int]] = {}
    for line in nsys_stats(nsys, real_export, "nvtx_sum"):
        # torch numbers each call of an operator; gpubench counts them as one name.
        name = re.sub(r", (seq|op_id|sizes) = .*", "", line.name)
        calls, total = told.get(name, (0, 0))
        told[name] = (calls + line.calls, total + line.total)
    assert found == told
