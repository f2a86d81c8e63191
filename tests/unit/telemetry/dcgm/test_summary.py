"""From what exporters showed to what a run's status tells: the join, numbers, doubts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpubench.api.compact import CompactTelemetry
from gpubench.api.enums import EnergySource, TelemetryJoin
from gpubench.api.run_telemetry import RunTelemetry
from gpubench.telemetry.dcgm import (
    Attempt,
    ExporterHistory,
    ExpositionParser,
    PodId,
    Window,
    run_telemetry,
)
from tests.integration.dcgm.exporter import exposition
from tests.integration.dcgm.gpus import gpu, uuid

OURS = ("team-a", "sweep-1-master-0")
OTHER = ("team-b", "somebody")
WINDOW = Window(110.0, 190.0)

Show = Callable[[int], list[dict[str, Any]]]


def attempt(**values: Any) -> Attempt:
    usual = Attempt(
        number=1, pod=PodId(*OURS), node="node-a", began_at=100.0, ended_at=200.0, gpus=1
    )
    return replace(usual, **values)


def history(show: Show, *, every: int = 1, seconds: range = range(80, 221)) -> ExporterHistory:
    """What an exporter has shown that was asked every second and refreshes as often as said."""
    found, parser = ExporterHistory(), ExpositionParser()
    for second in seconds:
        text = exposition(show(second // every * every))
        found.add(parser.parse(text), float(second))
    return found


def busy(number: int, second: int, *pods: tuple[str, str], **values: Any) -> dict[str, Any]:
    """A GPU of 300 W on average, whose counter goes with it."""
    watts = 250.0 if second % 2 else 350.0
    told = {"POWER_USAGE": watts, "TOTAL_ENERGY_CONSUMPTION": 10_000_000 + second * 300_000}
    return gpu(number, *pods, **(told | values))


def see(show: Show, nvml: CompactTelemetry | None = None, **values: Any) -> RunTelemetry:
    return run_telemetry(attempt(**values), WINDOW, {"node-a": history(show)}, nvml)


def test_a_run_is_told_what_its_gpu_did_in_its_window() -> None:
    found = see(lambda second: [busy(1, second, OURS), busy(2, second, OTHER, GPU_UTIL=5)])
    assert found.joined_by is TelemetryJoin.POD
    assert [each.uuid for each in found.gpus] == [uuid(1)]
    assert found.utilization == 0.8
    assert found.sm_active == 0.6
    assert found.tensor_active == 0.25
    assert found.dram_active == 0.5
    assert found.memory_copy_utilization == 0.3
    assert found.memory_used_bytes == 20_000 * 2**20
    assert found.power_watts == pytest.approx(300.0, rel=0.01)
    assert found.energy_joules == 24_000.0
    assert found.energy_source is EnergySource.COUNTER
    assert found.energy_error_joules == pytest.approx(350.0)
    assert found.temperature_celsius == 60.0
    assert found.sm_clock_mhz == 1755.0
    assert found.pcie_receive_bytes == 160_000_000_000
    assert found.nvlink_transmit_bytes == 240_000_000_000
    assert (found.samples, found.expected_samples, found.coverage) == (81, 80, 1.0)
    assert found.refresh_seconds == 1.0
    assert found.final
    assert found.xid_errors == []
    assert found.notes == []


def test_several_gpus_are_told_together_and_each() -> None:
    def show(second: int) -> list[dict[str, Any]]:
        return [busy(1, second, OURS, FB_USED=100), busy(2, second, OURS, GPU_UTIL=40)]

    found = see(show, gpus=2)
    assert found.utilization == pytest.approx(0.6)
    assert found.energy_joules == 48_000.0
    assert found.memory_used_bytes == 20_000 * 2**20
    assert [each.utilization for each in found.gpus] == [0.8, 0.4]
    assert found.samples == 162
    assert found.notes == []


def test_fewer_gpus_than_asked_for_are_told() -> None:
    found = see(lambda second: [busy(1, second, OURS)], gpus=2)
    assert "shows 1 GPUs of the run, it asked for 2" in found.notes[0]


def test_samples_outside_of_the_window_do_not_count() -> None:
    def show(second: int) -> list[dict[str, Any]]:
        inside = 110 <= second <= 190
        return [busy(1, second, OURS, GPU_UTIL=90 if inside else 0, GPU_TEMP=50 if inside else 99)]

    found = see(show)
    assert found.utilization == pytest.approx(0.9)
    assert found.temperature_celsius == 50.0


def test_a_slow_exporter_gives_fewer_samples_and_none_of_them_twice() -> None:
    show: Show = lambda second: [busy(1, second, OURS)]  # noqa: E731 - a table of one line
    found = run_telemetry(attempt(), WINDOW, {"a": history(show, every=10)})
    assert found.refresh_seconds == 10.0
    assert (found.samples, found.expected_samples) == (9, 8)
    assert found.coverage == 1.0


def test_without_pods_the_uuids_of_the_result_join() -> None:
    found = see(lambda second: [busy(1, second), busy(2, second)], uuids=[uuid(2)[:12]])
    assert found.joined_by is TelemetryJoin.GPU_UUID
    assert [each.uuid for each in found.gpus] == [uuid(2)]
    assert found.energy_joules == 24_000.0


@pytest.mark.parametrize(
    ("show", "uuids", "reason"),
    [
        (lambda s: [busy(1, s)], [], "told no UUIDs"),
        (lambda s: [busy(1, s)], [uuid(5)[:12]], "no exporter shows GPU-00000005"),
        (lambda s: [busy(1, s, OTHER)], [uuid(1)[:12]], "had team-b/somebody on GPU-00000001"),
        (
            lambda s: [
                {**busy(1, s), "index": 0, "instance": "7", "profile": "1g.10gb"},
                {**busy(1, s), "index": 0, "instance": "8", "profile": "1g.10gb"},
            ],
            [uuid(1)[:12]],
            "divided into MIG instances",
        ),
        (
            lambda s: [busy(1, s), {**busy(2, s), "uuid": uuid(1)[:-1] + "f"}],
            [uuid(1)[:12]],
            "the beginning of several",
        ),
    ],
    ids=["no uuid", "unknown uuid", "other pod", "mig", "ambiguous"],
)
def test_what_is_ambiguous_is_said_and_not_guessed(
    show: Show, uuids: list[str], reason: str
) -> None:
    found = see(show, uuids=uuids)
    assert found.joined_by is None
    assert found.gpus == []
    assert found.power_watts is None
    assert found.coverage == 0.0
    assert any(reason in note for note in found.notes), found.notes


def test_a_shared_gpu_gives_only_what_can_be_told_apart() -> None:
    def show(second: int) -> list[dict[str, Any]]:
        return [busy(1, second, OURS, OTHER)]

    found = see(show)
    assert found.gpus[0].shared
    assert found.temperature_celsius == 60.0
    assert found.sm_clock_mhz == 1755.0
    for name in ("utilization", "sm_active", "power_watts", "energy_joules", "memory_used_bytes"):
        assert getattr(found, name) is None, name
    assert "other pods were on the same GPU" in found.notes[0]


def test_on_a_shared_gpu_a_pods_own_utilization_is_taken_where_it_is_told() -> None:
    history, parser = ExporterHistory(), ExpositionParser()
    for second in range(80, 221):
        whole = exposition([busy(1, second)])
        own = "".join(
            f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",UUID="{uuid(1)}",hostname="node-a",'
            f'namespace="{namespace}",pod="{pod}"}} {value}\n'
            for (namespace, pod), value in ((OURS, 50), (OTHER, 30))
        )
        history.add(parser.parse(whole + own), float(second))
    found = run_telemetry(attempt(), WINDOW, {"a": history})
    assert found.utilization == 0.5
    assert found.power_watts is None


def test_a_mig_instance_is_not_given_what_is_the_whole_gpus() -> None:
    def show(second: int) -> list[dict[str, Any]]:
        return [
            {**busy(1, second, OURS), "index": 0, "instance": "7", "profile": "3g.40gb"},
            {
                **busy(1, second, OTHER, SM_ACTIVE=0.1),
                "index": 0,
                "instance": "8",
                "profile": "3g.40gb",
            },
        ]

    found = see(show)
    (each,) = found.gpus
    assert (each.instance, each.profile, each.shared) == ("7", "3g.40gb", False)
    assert found.sm_active == 0.6
    assert found.memory_used_bytes is not None
    assert found.energy_joules is None
    assert found.power_watts is None
    assert "MIG" in found.notes[0]


def test_an_xid_error_that_is_new_is_the_runs() -> None:
    assert see(lambda s: [busy(1, s, OURS, XID_ERRORS=79 if s > 150 else 0)]).xid_errors == [79]


def test_an_xid_error_from_before_is_not() -> None:
    found = see(lambda s: [busy(1, s, OURS, XID_ERRORS=79)])
    assert found.xid_errors == []
    assert found.notes == []


def test_an_xid_error_on_the_gpu_of_another_is_not() -> None:
    def show(second: int) -> list[dict[str, Any]]:
        return [busy(1, second, OURS), busy(2, second, OTHER, XID_ERRORS=31 if second > 150 else 0)]

    assert see(show).xid_errors == []


def test_the_same_xid_error_again_shows_in_its_count() -> None:
    def show(second: int) -> list[dict[str, Any]]:
        count = {"31": 2 if second > 150 else 1}
        return [busy(1, second, OURS, XID_ERRORS=31, XID_ERRORS_COUNT=count)]

    assert see(show).xid_errors == [31]


def test_a_count_that_leaves_its_time_window_is_no_new_error() -> None:
    def show(second: int) -> list[dict[str, Any]]:
        count = {"31": 1 if second > 150 else 2}
        return [busy(1, second, OURS, XID_ERRORS=31, XID_ERRORS_COUNT=count)]

    assert see(show).xid_errors == []


def test_an_xid_error_that_was_there_when_we_first_looked_is_said_to_be_doubtful() -> None:
    shown = history(lambda s: [busy(1, s, OURS, XID_ERRORS=79)], seconds=range(130, 221))
    found = run_telemetry(attempt(), WINDOW, {"a": shown})
    assert found.xid_errors == []
    assert any("XID 79 was there when the GPU was first looked at" in note for note in found.notes)


def test_throttling_is_told_by_nvmls_names() -> None:
    found = see(lambda s: [busy(1, s, OURS, CLOCKS_EVENT_REASONS=0x40 | 0x1 if s == 150 else 4)])
    assert found.throttle_reasons == ["HwThermalSlowdown", "SwPowerCap"]


def test_an_exporter_that_was_dead_for_a_while_costs_coverage_and_says_so() -> None:
    shown = history(lambda s: [busy(1, s, OURS)], seconds=range(80, 130))
    for second in range(130, 170):
        shown.fail(float(second), "Unreachable: connection refused")
    parser = ExpositionParser()
    for second in range(170, 221):
        shown.add(parser.parse(exposition([busy(1, second, OURS)])), float(second))
    found = run_telemetry(attempt(), WINDOW, {"node-a": shown})
    assert found.coverage == pytest.approx(41 / 80)
    assert found.energy_joules == 24_000.0
    assert found.energy_error_joules == pytest.approx(350.0)
    assert found.notes[0].startswith("node-a: Unreachable: connection refused, 40 times from ")


def test_an_operator_that_came_late_says_so() -> None:
    shown = history(lambda s: [busy(1, s, OURS)], seconds=range(160, 221))
    found = run_telemetry(attempt(), WINDOW, {"node-a": shown})
    assert found.coverage == pytest.approx(30 / 80)
    assert found.energy_joules is None
    assert "node-a was first asked 50 s after the training began" in found.notes


def test_one_sample_of_an_unknown_rhythm_is_not_taken_for_all() -> None:
    shown = history(lambda s: [busy(1, s, OURS)], every=100, seconds=range(180, 221))
    found = run_telemetry(attempt(), WINDOW, {"node-a": shown})
    assert found.samples == 1
    assert found.refresh_seconds is None
    assert found.coverage == pytest.approx(10 / 80)


def test_no_exporter_is_told() -> None:
    found = run_telemetry(attempt(), WINDOW, {})
    assert found.notes == ["no exporter was found for the node node-a"]
    assert not found.final


def test_a_gpu_that_stood_still_is_not_counted() -> None:
    def show(second: int) -> list[dict[str, Any]]:
        return [busy(1, min(second, 150), OURS), busy(2, second, OTHER)]

    found = see(show)
    assert found.samples == 41
    assert found.coverage == pytest.approx(41 / 80)
    assert any("stood still" in note for note in found.notes)


def test_a_clock_that_is_off_is_told_and_changes_nothing() -> None:
    shown, parser = ExporterHistory(), ExpositionParser()
    for second in range(80, 221):
        shown.add(parser.parse(exposition([busy(1, second, OURS)])), float(second), 3600.0)
    found = run_telemetry(attempt(), WINDOW, {"node-a": shown})
    assert found.energy_joules == 24_000.0
    assert found.notes == ["the clock of node-a is +3600 s off; ours was used"]


def test_a_gpu_that_two_exporters_show_counts_once() -> None:
    one = history(lambda s: [busy(1, s, OURS)])
    two = history(lambda s: [busy(1, s, OURS)], every=10)
    found = run_telemetry(attempt(), WINDOW, {"a": one, "b": two})
    assert len(found.gpus) == 1
    assert found.energy_joules == 24_000.0
    assert any("several exporters" in note for note in found.notes)


def test_a_training_shorter_than_the_refresh_says_so() -> None:
    shown = history(lambda s: [busy(1, s, OURS)], every=30)
    found = run_telemetry(attempt(), Window(121.0, 129.0), {"a": shown})
    assert found.samples == 0
    assert found.coverage == 0.0
    assert any("there may be no sample" in note for note in found.notes)


def test_nvml_and_dcgm_that_agree_are_silent() -> None:
    nvml = CompactTelemetry(
        utilization=0.85, power_watts=310.0, energy_joules=25_000.0, temperature_celsius=62
    )
    assert see(lambda s: [busy(1, s, OURS)], nvml).notes == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("utilization", 0.5),
        ("power_watts", 400.0),
        ("energy_joules", 40_000.0),
        ("memory_used_bytes", 10**9),
        ("temperature_celsius", 75.0),
        ("sm_clock_mhz", 1200.0),
    ],
)
def test_nvml_and_dcgm_that_differ_are_noted_with_both(name: str, value: float) -> None:
    nvml = CompactTelemetry.model_validate({name: value})
    (note,) = see(lambda s: [busy(1, s, OURS)], nvml).notes
    assert "by DCGM" in note
    assert f"{value:.4g}" in note


def test_a_damaged_exposition_is_told() -> None:
    shown = history(lambda s: [busy(1, s, OURS)])
    damaged = exposition([busy(1, 221, OURS)]) + "DCGM_FI_DEV_GPU_UTIL{cut\n"
    shown.add(ExpositionParser().parse(damaged), 221.0)
    found = run_telemetry(attempt(), WINDOW, {"node-a": shown})
    assert "could not be read: not a sample: DCGM_FI_DEV_GPU_UTIL{cut" in found.notes[0]
