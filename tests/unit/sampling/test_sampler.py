"""What readings of a GPU come to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpubench_workloads.sampling.nvml import Gpu, GpuReading, select_visible
from gpubench_workloads.sampling.sampler import foreign_processes, summarize_readings

READING = GpuReading(
    time=0.0,
    utilization=0.5,
    memory_used_bytes=100,
    power_watts=200.0,
    energy_joules=1000.0,
    temperature_celsius=50.0,
    sm_clock_mhz=1500.0,
    throttle_reasons=frozenset(),
    processes=frozenset({7}),
)
GPUS = [Gpu(index, f"GPU-{name}", "NVIDIA H100", None) for index, name in enumerate("abcd")]


@pytest.mark.parametrize(
    ("variable", "names"),
    [
        (None, "abcd"),
        ("", ""),
        ("2", "c"),
        ("3,1", "db"),
        ("GPU-b,GPU-a", "ba"),
        ("1,9,2", "b"),
        ("-1", ""),
        (" 0 , 2 ", "ac"),
    ],
)
def test_visible_gpus_are_read_as_cuda_does(variable: str | None, names: str) -> None:
    assert [gpu.uuid[-1] for gpu in select_visible(GPUS, variable)] == list(names)


def test_numbers_over_a_period() -> None:
    readings = [
        READING,
        replace(READING, time=1.0, utilization=1.0, memory_used_bytes=300, energy_joules=1300.0),
        replace(READING, time=2.0, temperature_celsius=60.0, energy_joules=1500.0),
    ]
    found = summarize_readings("GPU-a", readings, 4.0, foreign=frozenset())
    assert (found.samples, found.expected_samples) == (3, 4)
    assert found.utilization_mean == pytest.approx(2 / 3)
    assert found.memory_used_peak_bytes == 300
    assert found.temperature_max_celsius == 60.0
    # 500 J in the 2 s between the readings, over a period of 4 s.
    assert found.energy_joules == pytest.approx(1000.0)


def test_energy_without_a_counter_is_power_times_time() -> None:
    readings = [replace(READING, energy_joules=None, power_watts=p) for p in (100.0, 300.0)]
    found = summarize_readings("GPU-a", readings, 10.0, foreign=frozenset())
    assert found.energy_joules == 2000.0


def test_a_gpu_that_tells_nothing_gives_no_numbers() -> None:
    found = summarize_readings("GPU-a", [], 10.0, foreign=frozenset())
    assert found.samples == 0
    assert (found.energy_joules, found.utilization_mean, found.power_mean_watts) == (None,) * 3


@pytest.mark.parametrize(
    ("before", "seen", "own", "expected", "foreign"),
    [
        (set(), [{7}, {7}], {7}, 1, set()),
        (set(), [{7}, {7, 8}], {7}, 1, {8}),
        ({5}, [{5, 7}], {7}, 1, {5}),
        # Process ids of another namespace: one process expected and one seen.
        (set(), [{90001}], {7}, 1, set()),
        (set(), [{90001, 90002}], {7}, 1, {90001, 90002}),
        # One after the other is never more than expected at once.
        (set(), [{90001}, {90002}], {7}, 1, set()),
    ],
)
def test_foreign_processes(
    before: set[int], seen: list[set[int]], own: set[int], expected: int, foreign: set[int]
) -> None:
    found = foreign_processes(frozenset(before), [frozenset(s) for s in seen], own, expected)
    assert found == foreign
