"""What a report comes to, number by number, on reports small enough to reckon by hand."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gpubench.api.enums import Family
from gpubench.api.profile import Profile
from gpubench.profiles import ProfileError, read_profile
from tests.unit.profiles.exports import PROCESS, Export

NANO = 1e-9


@pytest.fixture
def export(tmp_path: Path) -> Export:
    return Export(tmp_path / "made.sqlite")


def read(export: Export, *, whole: bool = False) -> Profile:
    return read_profile({0: export.write()}, export.path.parent, whole=whole)


def test_a_family_has_calls_total_mean_percentiles_and_its_share_of_the_window(
    export: Export,
) -> None:
    for start, duration in ((0, 10), (100, 20), (200, 90)):
        export.call("cudaLaunchKernel_v7000", start, start + duration)
    export.call("cudaLaunchKernelExC_v11060", 900, 1000)
    family = read(export).families[Family.CUDA_LAUNCH_KERNEL]
    assert (family.calls, family.total_seconds) == (4, 220 * NANO)
    assert family.mean_seconds == pytest.approx(55 * NANO)
    assert (family.min_seconds, family.max_seconds) == (1e-8, 1e-7)
    assert family.p50_seconds == pytest.approx(55 * NANO)
    assert family.p99_seconds == pytest.approx(99.7 * NANO)
    assert family.share == pytest.approx(0.22)


def test_percentiles_are_of_the_events_of_all_ranks_together(tmp_path: Path) -> None:
    reports = {}
    for rank, durations in enumerate(([1, 1, 1, 1, 1], [100])):
        one = Export(tmp_path / f"rank-{rank}.sqlite")
        for place, duration in enumerate(durations):
            one.call("cudaFree_v3020", place * 200, place * 200 + duration)
        reports[rank] = one.write()
    family = read_profile(reports, tmp_path).families[Family.CUDA_FREE]
    assert family.p50_seconds == pytest.approx(1 * NANO)
    assert family.rank_calls == [5, 1]
    assert family.rank_total_seconds == pytest.approx([5 * NANO, 100 * NANO])


def test_a_rank_without_events_of_a_family_counts_as_nothing(tmp_path: Path) -> None:
    first = Export(tmp_path / "a.sqlite").call("cudaFree", 0, 10).call("cudaMalloc", 10, 20)
    second = Export(tmp_path / "b.sqlite").call("cudaFree", 0, 20)
    profile = read_profile({0: first.write(), 1: second.write()}, tmp_path)
    assert profile.families[Family.CUDA_MALLOC].rank_calls == [1, 0]
    assert profile.window.seconds == pytest.approx(20 * NANO)
    assert profile.families[Family.CUDA_FREE].share == pytest.approx(30 / 40)


def test_copies_have_bytes_and_bandwidth_by_kind_of_host_memory(export: Export) -> None:
    export.copy(1, 0, 100, 1000, srcKind=0).copy(1, 200, 300, 3000, srcKind=1)
    export.copy(2, 400, 500, 500, dstKind=1).copy(8, 600, 700, 100).memset(800, 900, 50)
    families = read(export).families
    to_device = families[Family.MEMCPY_HOST_TO_DEVICE]
    assert to_device.copies is not None
    assert to_device.copies.total_bytes == 4000
    assert to_device.copies.bytes_per_second == pytest.approx(4000 / (200 * NANO))
    assert to_device.pageable is not None
    assert to_device.pageable.total_bytes == 1000
    assert to_device.pinned is not None
    assert to_device.pinned.bytes_per_second == pytest.approx(3000 / (100 * NANO))
    to_host = families[Family.MEMCPY_DEVICE_TO_HOST]
    assert to_host.pageable is None
    assert to_host.pinned is not None
    assert to_host.pinned.calls == 1
    assert families[Family.MEMCPY_DEVICE_TO_DEVICE].pinned is None
    memset = families[Family.MEMSET]
    assert memset.copies is not None
    assert memset.copies.total_bytes == 50


def test_idle_overlap_and_exposed_communication_count_each_moment_once(export: Export) -> None:
    export.kernel("gemm", 0, 400).kernel("gemm", 100, 200, streamId=2)
    export.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 300, 600)
    export.copy(1, 350, 450, 10).memset(900, 1000, 10)
    profile = read(export)
    activity = profile.activity
    assert activity is not None
    assert activity.busy_seconds == pytest.approx(700 * NANO)
    assert activity.idle_share == pytest.approx(0.3)
    assert profile.idle_share == activity.idle_share
    assert activity.compute_seconds == pytest.approx(400 * NANO)
    assert activity.communication_seconds == pytest.approx(300 * NANO)
    assert activity.exposed_communication_seconds == pytest.approx(200 * NANO)
    assert activity.communication_overlap == pytest.approx(1 / 3)
    assert activity.copy_overlap == pytest.approx(0.5)


def test_gpus_of_different_processes_do_not_hide_each_other(export: Export) -> None:
    export.kernel("gemm", 0, 1000).kernel("gemm", 0, 500, globalPid=PROCESS + (1 << 24))
    activity = read(export).activity
    assert activity is not None
    assert activity.gpus == 2
    assert activity.idle_share == pytest.approx(0.25)


def test_launch_latency_is_from_the_call_to_the_kernel_within_one_process(export: Export) -> None:
    other = PROCESS + (1 << 24)
    export.call("cudaLaunchKernel", 0, 10, correlationId=7)
    export.call("cudaLaunchKernel", 500, 510, correlationId=7, globalTid=other + 1)
    export.kernel("a", 40, 50, correlationId=7)
    export.kernel("a", 700, 710, correlationId=7, globalPid=other)
    latency = read(export).launch_latency
    assert latency is not None
    assert (latency.count, latency.minimum, latency.maximum) == (2, 40 * NANO, 200 * NANO)


def test_kernels_of_a_graph_have_no_launch_latency(export: Export) -> None:
    export.call("cudaGraphLaunch", 0, 10, correlationId=7)
    export.kernel("a", 40, 50, correlationId=7).kernel("a", 60, 70, correlationId=7)
    assert read(export).launch_latency is None


def test_launches_with_the_same_number_are_told_and_not_paired(export: Export) -> None:
    export.call("cudaLaunchKernel", 0, 10, correlationId=7)
    export.call("cudaLaunchKernel", 20, 30, correlationId=7)
    export.kernel("a", 40, 50, correlationId=7)
    profile = read(export)
    assert profile.launch_latency is None
    assert any("same number twice" in note for note in profile.notes)


def test_kernels_that_begin_before_their_launch_are_told(export: Export) -> None:
    export.call("cudaLaunchKernel", 100, 110, correlationId=7).kernel("a", 40, 50, correlationId=7)
    profile = read(export)
    assert profile.launch_latency is None
    assert any("1 kernels begin before" in note for note in profile.notes)


def with_window(export: Export) -> Export:
    export.domain("gpubench", 3).range("window", 100, 200, domain=3).range("forward", 110, 130, 3)
    export.range("window", 0, 1000)  # of no domain: somebody else's
    export.call("cudaFree", 0, 10).call("cudaFree", 100, 110).call("cudaFree", 190, 290)
    return export.call("cudaFree", 201, 202)


def test_what_begins_within_the_training_s_window_counts(export: Export) -> None:
    profile = read(with_window(export))
    assert profile.window.seconds == pytest.approx(100 * NANO)
    assert profile.families[Family.CUDA_FREE].calls == 2
    assert "3 events outside of the window are left out." in profile.notes
    assert [(phase.name, phase.calls) for phase in profile.phases] == [("forward", 1)]


def test_the_whole_report_counts_where_that_is_asked_for(export: Export) -> None:
    profile = read(with_window(export), whole=True)
    assert profile.families[Family.CUDA_FREE].calls == 4
    assert profile.window.seconds == pytest.approx(1000 * NANO)
    assert profile.notes == []


def test_a_phase_has_the_gpu_time_that_was_launched_in_it(export: Export) -> None:
    export.domain("gpubench", 3).range("step", 0, 1000, 3)
    export.range("forward", 0, 100, 3).range("backward", 100, 200, 3).range("data", 500, 600, 3)
    # The backward pass launches from a thread of its own, and its kernels run much later.
    for number, start in ((7, 50), (8, 150), (9, 160), (10, 300)):
        export.call("cudaLaunchKernel", start, start + 1, correlationId=number, globalTid=PROCESS)
    export.kernel("a", 60, 90, correlationId=7).kernel("a", 700, 800, correlationId=8)
    export.copy(1, 300, 350, 10, correlationId=9).kernel("a", 900, 999, correlationId=10)
    phases = {phase.name: phase.gpu_seconds for phase in read(export).phases}
    assert phases == {
        "step": None,
        "forward": pytest.approx(30 * NANO),
        "backward": pytest.approx(150 * NANO),
        "data": None,
    }


def test_ranges_of_others_are_names_with_calls_without_torch_s_numbers(export: Export) -> None:
    for number in (1, 2):
        start = number * 100
        export.range(f"aten::add, seq = {number}, op_id = 3{number}", start, start + 50)
    export.domain("NCCL", 9).range("ncclAllReduce", 0, 10, domain=9)
    ranges = {line.name: line.calls for line in read(export).ranges}
    assert ranges == {"aten::add": 2, "NCCL:ncclAllReduce": 1}


def test_names_that_no_rule_knows_are_counted_and_shown(export: Export) -> None:
    export.call("cudaNeverHeardOf_v99000", 0, 30).call("cudaFree", 0, 1)
    export.os_call("fancy_call", 50, 60).os_call("poll", 60, 70).os_call("ended", 99, 99, 32)
    profile = read(export)
    assert [(line.name, line.calls, line.family) for line in profile.unmapped] == [
        ("cudaNeverHeardOf", 1, Family.OTHER_API),
        ("fancy_call", 1, Family.OS_RUNTIME_CALL),
    ]
    assert profile.families[Family.OTHER_API].calls == 1
    assert profile.families[Family.OS_RUNTIME_WAIT].calls == 1


def test_libraries_have_families(export: Export) -> None:
    export.library("CUDNN_EVENTS", "cudnnConvolutionForward", 0, 10)
    export.library("CUBLAS_EVENTS", "cublasSgemm_v2", 20, 50)
    families = read(export).families
    assert families[Family.CUDNN].total_seconds == pytest.approx(10 * NANO)
    assert families[Family.CUBLAS].calls == 1


def test_lists_of_names_are_bounded_and_tell_how_many_they_leave_out(export: Export) -> None:
    for number in range(5):
        export.kernel(f"kernel_{number}", 0, 10 + number)
    path = export.write()
    profile = read_profile({0: path}, path.parent, most_names=2)
    assert [line.name for line in profile.kernels] == ["kernel_4", "kernel_3"]
    assert profile.names_left_out == 3
    assert profile.families[Family.COMPUTE_KERNEL].calls == 5


def test_absent_tables_are_told(export: Export) -> None:
    missing = read(export.call("cudaFree", 0, 10)).missing
    assert "CUPTI_ACTIVITY_KIND_KERNEL" in missing
    assert "CUPTI_ACTIVITY_KIND_RUNTIME" not in missing


def test_the_old_and_the_new_table_of_versions(tmp_path: Path) -> None:
    for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):
        one = Export(tmp_path / f"{table}.sqlite").call("cudaFree", 0, 10)
        path = one.write()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE {table} (name TEXT NOT NULL, value TEXT)")
            connection.executemany(
                f"INSERT INTO {table} VALUES (?, ?)",
                [("EXPORT_PRODUCT_VERSION", "2022.4.2"), ("EXPORT_SCHEMA_VERSION", "3.0.1")],
            )
        profile = read_profile({0: path}, tmp_path)
        assert (profile.version, profile.schema_version) == ("2022.4.2", "3.0.1")


def test_rows_whose_times_cannot_be_true_are_left_out_and_told(export: Export) -> None:
    export.call("cudaFree", 0, 10).call("cudaFree", 100, 50).call("cudaFree", -5, 50)
    export.call("cudaFree", 5, 2**62)
    profile = read(export)
    assert profile.families[Family.CUDA_FREE].calls == 1
    assert any("3 rows of CUPTI_ACTIVITY_KIND_RUNTIME are left out" in n for n in profile.notes)


def test_a_range_that_never_ended_ends_with_the_last_one(export: Export) -> None:
    export.range("open", 10, None).range("other", 20, 100)
    profile = read(export)
    assert {line.name: line.max_seconds for line in profile.ranges}["open"] == 9e-8
    assert any("1 NVTX ranges never ended" in note for note in profile.notes)


def test_one_unreadable_report_is_told_beside_the_numbers_of_the_others(
    export: Export, tmp_path: Path
) -> None:
    (tmp_path / "broken.sqlite").write_bytes(b"no database" * 100)
    reports = {0: export.call("cudaFree", 0, 10).write(), 1: tmp_path / "broken.sqlite"}
    profile = read_profile(reports, tmp_path)
    assert profile.families[Family.CUDA_FREE].rank_calls == [1]
    assert profile.notes[0].startswith("The report of rank 1 cannot be read: ")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.sqlite", None, "there is no such report"),
        ("empty.sqlite", b"", "it holds no events"),
        ("broken.sqlite", b"no database" * 100, "not a SQLite file"),
        ("report.txt", b"", "not a form of report that is known"),
        ("trace.json", b"{", "not a trace that can be read"),
        ("trace.json", b"{}", "has no list traceEvents"),
        ("trace.json.gz", b"{}", "not a trace that can be read"),
        ("report.nsys-rep", b"", "reading it needs nsys"),
    ],
)
def test_what_cannot_be_read_at_all_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: bytes | None,
    message: str,
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ProfileError, match=message) as caught:
        read_profile({0: tmp_path / name}, tmp_path)
    assert "\n" not in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def kineto_event(category: str, name: str, start: float, duration: float, **args: Any) -> Any:
    event = {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7}
    return event | {"ts": start, "dur": duration, "args": args}


KINETO_EVENTS = [
    kineto_event("user_annotation", "window", 0, 100),
    kineto_event("user_annotation", "forward", 1, 40.5),
    kineto_event("cpu_op", "aten::mm", 2, 30),
    kineto_event("cuda_runtime", "cudaLaunchKernel", 3, 4.25, correlation=9),
    kineto_event("cuda_driver", "cuLaunchKernelEx", 13, 1, correlation=10),
    kineto_event("kernel", "void gemm<4>(int)", 10.5, 20, correlation=9, device=0, stream=7),
    kineto_event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 20.5, 20, device=0),
    kineto_event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 50, 10, bytes=4000, device=0),
    kineto_event("gpu_memset", "Memset (Device)", 70, 1, bytes=64, device=0),
    {"ph": "i", "cat": "kernel", "name": "an instant", "ts": 1},
]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_a_trace_of_torch_has_the_same_families(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rank-0.kineto{suffix}"
    content = json.dumps({"schemaVersion": 1, "traceEvents": KINETO_EVENTS}).encode()
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    profile = read_profile({0: path}, tmp_path)
    assert profile.source == "Kineto"
    totals = {family: round(f.total_seconds * 1e9) for family, f in profile.families.items()}
    assert totals == {
        Family.CUDA_LAUNCH_KERNEL: 5250,
        Family.COMPUTE_KERNEL: 20_000,
        Family.NCCL_ALL_REDUCE: 20_000,
        Family.MEMCPY_HOST_TO_DEVICE: 10_000,
        Family.MEMSET: 1000,
    }
    assert profile.window.seconds == pytest.approx(100e-6)
    pinned = profile.families[Family.MEMCPY_HOST_TO_DEVICE].pinned
    assert pinned is not None
    assert pinned.bytes_per_second == pytest.approx(4e8)
    assert profile.activity is not None
    assert profile.activity.exposed_communication_seconds == pytest.approx(10e-6)
    assert profile.launch_latency is not None
    assert profile.launch_latency.count == 1
    assert [phase.name for phase in profile.phases] == ["forward"]
    assert [line.name for line in profile.ranges] == ["aten::mm"]
    assert profile.notes == []


def test_damaged_events_of_a_trace_are_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    bad = [
        kineto_event("kernel", "gemm", 1, -4),
        {**kineto_event("kernel", "gemm", 1, 4), "dur": "long"},
        {**kineto_event("kernel", "gemm", 1, 4), "name": 3},
    ]
    path.write_text(json.dumps({"traceEvents": [*KINETO_EVENTS, *bad]}), encoding="utf-8")
    profile = read_profile({0: path}, tmp_path)
    assert profile.families[Family.COMPUTE_KERNEL].calls == 1
    assert "3 rows of kernel are left out: their times cannot be true." in profile.notes
