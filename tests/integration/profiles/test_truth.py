"""Every family's calls and totals are those of `nsys stats`, to the nanosecond."""

from __future__ import annotations

import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from gpubench.api.enums import Family, ProfiledKind
from gpubench.api.profile import Profile
from gpubench.profiles import ProfileError, read_profile
from gpubench.profiles.families import copy_family, family_of, plain_name
from gpubench.profiles.reading import open_trace
from gpubench.profiles.reduction import reduce_trace
from gpubench.profiles.tally import summarize
from tests.integration.profiles.nsys_stats import Line, nsys_stats
from tests.unit.profiles.exports import Export

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


def calls_and_totals(profile: Profile) -> dict[Family, tuple[int, int]]:
    """Return calls and nanoseconds of each family."""
    return {
        family: (numbers.calls, round(numbers.total_seconds * 1e9))
        for family, numbers in profile.families.items()
    }


def test_real_exports(nsys: Path, real_export: Path, tmp_path: Path) -> None:
    profile = read_profile({0: real_export}, tmp_path)
    assert profile.notes == []
    found = calls_and_totals(profile)
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


SUFFIXES = ("", "_v3020", "_v7000", "_v11060", "_ptsz", "_ptsz_v7000", "_v2")
FUNCTIONS = (
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cuLaunchKernelEx",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaEventDestroy",
    "cudaEventRecord",
    "cudaMemcpyAsync",
    "cuMemcpyHtoDAsync",
    "cudaMemcpy",
    "cudaMemsetAsync",
    "cudaMalloc",
    "cudaHostAlloc",
    "cudaFree",
    "cudaGraphLaunch",
    "cudaDeviceSynchronize",
    "cudaNeverHeardOf",
)
KERNELS = (
    "ncclDevKernel_AllGather_RING_LL",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL",
    "ncclDevKernel_Broadcast_RING_LL",
    "ncclDevKernel_SendRecv",
    "ncclDevKernel_Generic",
    "volta_sgemm_128x64_nn",
)
OS_FUNCTIONS = ("poll", "sem_timedwait", "ioctl", "never_heard_of")


def fill(export: Export, seed: int, events: int) -> Path:
    """Fill an export with events of every table, at random."""
    chosen = random.Random(seed)

    def times() -> tuple[int, int]:
        start = chosen.randrange(10**9)
        return start, start + int(chosen.lognormvariate(9, 2))

    export.domain("gpubench", 5)
    for number in range(events):
        export.call(chosen.choice(FUNCTIONS) + chosen.choice(SUFFIXES), *times())
        export.kernel(chosen.choice(KERNELS), *times(), correlationId=number + 1)
        export.copy(chosen.choice((1, 2, 3, 8, 10, 11)), *times(), size=chosen.randrange(10**6))
        export.memset(*times(), size=chosen.randrange(10**6))
        export.os_call(chosen.choice(OS_FUNCTIONS), *times(), chosen.choice((27, 27, 27, 31)))
        domain = chosen.choice((0, 5))
        export.range(chosen.choice(("forward", "backward", "step")), *times(), domain=domain)
        export.library("CUDNN_EVENTS", "cudnnConvolutionForward", *times())
        export.library("CUBLAS_EVENTS", "cublasGemmEx", *times())
    export.range("never ended", times()[0], None)
    return export.write()


@pytest.mark.parametrize("seed", range(3))
def test_generated_exports_with_every_table(
    nsys: Path, empty_export: Path, tmp_path: Path, seed: int
) -> None:
    export = fill(Export(empty_export), seed, events=400)
    profile = read_profile({0: export}, tmp_path)
    found = calls_and_totals(profile)
    assert set(found) >= {Family.NCCL_ALL_GATHER, Family.CUDA_EVENT_SYNCHRONIZE, Family.CUDNN}
    told = families_told(nsys, export)
    assert {family: found[family] for family in told} == told
    assert set(found) - set(told) == {Family.CUDNN, Family.CUBLAS}
    assert found[Family.CUDNN][0] == found[Family.CUBLAS][0] == 400
    ranges = {line.name: (line.calls, line.total) for line in nsys_stats(nsys, export, "nvtx_sum")}
    own = {f"gpubench:{phase.name}": phase for phase in profile.phases}
    others = {line.name: line for line in profile.ranges}
    assert {
        name: (numbers.calls, round(numbers.total_seconds * 1e9))
        for name, numbers in {**own, **others}.items()
    } == ranges


def test_a_recording_is_exported_and_read_whole(nsys: Path, recorded: Path, tmp_path: Path) -> None:
    stale = tmp_path / "rank-0.sqlite"
    stale.write_bytes(b"an export of something else")
    profile = read_profile({0: recorded}, tmp_path, nsys=nsys)
    told = nsys_stats(nsys, recorded, "osrt_sum")
    assert sum(line.calls for line in told) == profile.events
    assert calls_and_totals(profile) == families_told(nsys, recorded)
    assert profile.families[Family.OS_RUNTIME_WAIT].calls >= 1
    assert profile.idle_share is None
    assert stale.read_bytes() == b"an export of something else"


@pytest.mark.parametrize("form", ["sqlite", "parquetdir"])
def test_both_forms_of_an_export_say_the_same(
    nsys: Path, recorded: Path, tmp_path: Path, form: str
) -> None:
    export = tmp_path / ("out.sqlite" if form == "sqlite" else "out")
    command = [str(nsys), "export", f"--type={form}", f"--output={export}", str(recorded)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    exported = read_profile({0: export}, tmp_path)
    assert exported == read_profile({0: recorded}, tmp_path, nsys=nsys)


def test_a_cut_recording_is_an_error_in_one_line(
    nsys: Path, recorded: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "rank-0.nsys-rep"
    cut.write_bytes(recorded.read_bytes()[:5000])
    with pytest.raises(ProfileError, match="nsys cannot export it") as caught:
        read_profile({0: cut}, tmp_path, nsys=nsys)
    assert "\n" not in str(caught.value)
