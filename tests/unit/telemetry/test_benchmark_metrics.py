"""Where benchmarks stand, as Prometheus reads it."""

from __future__ import annotations

from dataclasses import replace

from gpubench.api.benchmark import Progress
from gpubench.api.enums import BenchmarkPhase
from gpubench.telemetry.benchmark_metrics import BenchmarkSample, benchmark_metrics
from tests.unit.telemetry.samples import exposition, read

SAMPLE = BenchmarkSample(
    namespace="lab",
    benchmark="demo",
    phase=BenchmarkPhase.RUNNING,
    progress=Progress(total=24, pending=10, running=2, succeeded=8, invalid=1, failed=3),
    failure_budget=4,
    started_at=1000.0,
    completed_at=None,
    estimated_completion_at=2000.0,
)


def exported(*samples: BenchmarkSample) -> dict[str, list[tuple[dict[str, str], float]]]:
    return read(exposition(benchmark_metrics(samples)))


def test_runs_by_phase_add_up_and_none_is_missing() -> None:
    runs = exported(SAMPLE)["gpubench_benchmark_runs"]
    counts = {labels["phase"]: value for labels, value in runs}
    assert counts == {"Pending": 10, "Running": 2, "Succeeded": 8, "Invalid": 1, "Failed": 3}
    empty = exported(replace(SAMPLE, progress=Progress()))["gpubench_benchmark_runs"]
    assert [value for _, value in empty] == [0] * 5


def test_phase_times_and_budget() -> None:
    found = exported(SAMPLE)
    ((labels, _),) = found["gpubench_benchmark_phase"]
    assert labels == {"namespace": "lab", "benchmark": "demo", "phase": "Running"}
    assert [v for _, v in found["gpubench_benchmark_failure_budget"]] == [4]
    assert [v for _, v in found["gpubench_benchmark_start_timestamp_seconds"]] == [1000]
    times = found["gpubench_benchmark_estimated_completion_timestamp_seconds"]
    assert [v for _, v in times] == [2000]


def test_what_a_benchmark_does_not_have_is_left_out() -> None:
    found = exported(replace(SAMPLE, failure_budget=None))
    assert found["gpubench_benchmark_failure_budget"] == []
    assert found["gpubench_benchmark_completion_timestamp_seconds"] == []
