"""Samples, the rhythm of refreshes, gaps, and what is old though it is shown."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gpubench.telemetry.dcgm import (
    ExporterHistory,
    Exposition,
    ExpositionParser,
    Field,
    GpuId,
    GpuReading,
)
from gpubench.telemetry.dcgm.collector import seconds_to_wait
from gpubench.telemetry.dcgm.history import MAX_SAMPLES, halved, unfrozen
from tests.integration.dcgm.exporter import exposition
from tests.integration.dcgm.gpus import gpu, uuid

GPU = GpuId(uuid(1))


def show(history: ExporterHistory, at: float, *gpus: dict[str, Any], offset: float = 0.0) -> bool:
    """Let an exporter show GPUs at a time."""
    return history.add(ExpositionParser().parse(exposition(list(gpus))), at, offset)


def watts(history: ExporterHistory) -> list[float]:
    return [sample.values[Field.POWER] for sample in history.gpus[GPU].samples]


def test_a_scrape_that_shows_nothing_new_is_no_sample() -> None:
    history = ExporterHistory()
    for second in range(20):
        show(history, float(second), gpu(POWER_USAGE=100.0 + second // 5))
    assert watts(history) == [100.0, 101.0, 102.0, 103.0]
    assert [sample.time for sample in history.gpus[GPU].samples] == [0.0, 5.0, 10.0, 15.0]
    assert [sample.age for sample in history.gpus[GPU].samples] == [math.inf, 1.0, 1.0, 1.0]


def test_the_same_value_again_is_a_sample_if_another_field_moved() -> None:
    history = ExporterHistory()
    for second in range(3):
        show(history, float(second), gpu(TOTAL_ENERGY_CONSUMPTION=1000 + second))
    assert watts(history) == [300.0] * 3


def test_the_refresh_is_found_by_looking_more_often() -> None:
    history = ExporterHistory()
    for second in range(100):
        show(history, float(second), gpu(TOTAL_ENERGY_CONSUMPTION=(second + 3) // 10))
    assert history.refresh_seconds == 10.0


def test_one_change_is_no_rhythm() -> None:
    history = ExporterHistory()
    for second in range(12):
        show(history, float(second), gpu(TOTAL_ENERGY_CONSUMPTION=second // 6))
    assert history.refresh_seconds is None


def test_a_gap_does_not_slow_the_rhythm() -> None:
    history = ExporterHistory()
    for second in [*range(20), *range(60, 80)]:
        show(history, float(second), gpu(TOTAL_ENERGY_CONSUMPTION=second // 2))
        if second == 19:
            for missed in range(20, 60):
                history.fail(float(missed), "Timeout: no answer within 5 s")
    assert history.refresh_seconds == 2.0
    (gap,) = history.gaps
    assert (gap.start, gap.end, gap.failures) == (20.0, 59.0, 40)


def test_gaps_of_different_reasons_or_with_answers_between_are_told_apart() -> None:
    history = ExporterHistory()
    history.fail(0.0, "a")
    history.fail(1.0, "b")
    history.fail(2.0, "b")
    show(history, 3.0, gpu())
    history.fail(4.0, "b")
    assert [(gap.reason, gap.failures) for gap in history.gaps] == [("a", 1), ("b", 2), ("b", 1)]


def test_values_with_a_time_long_past_are_not_taken() -> None:
    history = ExporterHistory()
    fresh = exposition([gpu(1)]).replace("} 300.000000\n", "} 300.000000 1000000\n")
    old = exposition([gpu(1)]).replace("} 300.000000\n", "} 300.000000 500000\n")
    history.add(ExpositionParser().parse(old), 1000.0)
    assert not history.gpus
    history.add(ExpositionParser().parse(fresh), 1000.0)
    assert set(history.gpus) == {GPU}


def test_an_exporter_with_its_clock_off_is_not_taken_for_stale() -> None:
    history = ExporterHistory()
    text = exposition([gpu(1)]).replace("} 300.000000\n", "} 300.000000 1000000\n")
    history.add(ExpositionParser().parse(text), 9000.0, clock_offset=-8000.0)
    assert [sample.time for sample in history.gpus[GPU].samples] == [9000.0]


def test_a_gpu_that_stopped_while_its_exporter_went_on_is_found() -> None:
    history = ExporterHistory()
    for second in range(10):
        energy = 1000 + 300 * min(second, 4)
        show(
            history,
            float(second),
            gpu(1, TOTAL_ENERGY_CONSUMPTION=energy),
            gpu(2, TOTAL_ENERGY_CONSUMPTION=second),
        )
    assert len(unfrozen(history.gpus[GPU].samples)) == 5
    assert len(unfrozen(history.gpus[GpuId(uuid(2))].samples)) == 10


def test_a_gpu_without_a_counter_of_energy_may_stand_still() -> None:
    history = ExporterHistory()
    still = gpu(1)
    del still["values"]["DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"]
    for second in range(10):
        show(history, float(second), still, gpu(2, TOTAL_ENERGY_CONSUMPTION=second))
    assert len(unfrozen(history.gpus[GPU].samples)) == 10


def test_long_runs_take_bounded_memory_and_keep_sums_peaks_and_reasons() -> None:
    history = ExporterHistory()
    for second in range(MAX_SAMPLES + 100):
        values = {
            Field.MEMORY_USED: 7e10 if second == 1234 else 1e8,
            Field.THROTTLE_REASONS: 8.0 if second == 77 else 0.0,
            Field.POWER: float(second),
        }
        history.add(Exposition({GPU: GpuReading(values=values)}), float(second))
    samples = history.gpus[GPU].samples
    assert len(samples) < MAX_SAMPLES
    assert sum(sample.weight for sample in samples) == MAX_SAMPLES + 100
    assert max(sample.values[Field.MEMORY_USED] for sample in samples) == 7e10
    assert any(sample.values[Field.THROTTLE_REASONS] == 8.0 for sample in samples)
    mean = sum(s.values[Field.POWER] * s.weight for s in samples) / (MAX_SAMPLES + 100)
    assert mean == pytest.approx((MAX_SAMPLES + 99) / 2)


def test_samples_are_not_merged_where_pods_came_or_went() -> None:
    history = ExporterHistory()
    show(history, 0.0, gpu(1, ("n", "a")))
    show(history, 1.0, gpu(1, ("n", "b")))
    assert len(halved(history.gpus[GPU].samples)) == 2


def test_what_no_run_needs_is_forgotten() -> None:
    history = ExporterHistory()
    for second in range(10):
        show(history, float(second), gpu(TOTAL_ENERGY_CONSUMPTION=second))
    history.forget_before(5.0)
    assert [sample.time for sample in history.gpus[GPU].samples] == [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]


def test_an_exporter_is_asked_shortly_before_it_has_something_new() -> None:
    history = ExporterHistory()
    assert seconds_to_wait(history, 0.0, 2.0) == 2.0
    for second in range(0, 125, 2):
        show(history, float(second), gpu(TOTAL_ENERGY_CONSUMPTION=second // 30))
    assert history.refresh_seconds == 30.0
    assert history.refreshed_at == 120.0
    assert seconds_to_wait(history, 121.0, 2.0) == 120.0 + 27.0 - 121.0
    assert seconds_to_wait(history, 149.0, 2.0) == 2.0
