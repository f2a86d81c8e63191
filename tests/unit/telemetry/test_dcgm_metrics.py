"""What DCGM saw of runs, as a scrape of the operator reads it."""

from __future__ import annotations

from dataclasses import replace

from gpubench.api.enums import ValidityStatus
from gpubench.api.run_telemetry import RunTelemetry
from gpubench.telemetry.dcgm_metrics import dcgm_metrics
from tests.unit.telemetry.samples import exposition, sample

IDENTITY = 'benchmark="demo",namespace="lab",run="demo-abcdefghij-1"'
FULL = RunTelemetry(
    attempt=1,
    refresh_seconds=1.0,
    samples=80,
    expected_samples=100,
    coverage=0.8,
    utilization=0.9,
    graphics_active=0.8,
    sm_active=0.7,
    tensor_active=0.25,
    dram_active=0.5,
    memory_copy_utilization=0.3,
    memory_used_bytes=2**34,
    power_watts=300.0,
    energy_joules=30_000.0,
    energy_error_joules=350.0,
    temperature_celsius=66.0,
    sm_clock_mhz=1755.0,
    memory_clock_mhz=2619.0,
    pcie_receive_bytes=1,
    pcie_transmit_bytes=2,
    nvlink_receive_bytes=3,
    nvlink_transmit_bytes=4,
)


def exported(telemetry: RunTelemetry | None, validity: ValidityStatus) -> dict[str, float]:
    """Return the numbers by DCGM, by name and labels beside the run's."""
    run = replace(sample(validity=validity), telemetry=telemetry)
    lines = exposition(dcgm_metrics([run])).splitlines()
    found = {}
    for line in lines:
        name, _, rest = line.partition("{")
        if name.startswith("gpubench_run_dcgm_"):
            labels, _, value = rest.rpartition("} ")
            kinds = [text for text in labels.split(",") if text.startswith("kind=")]
            found[name.removeprefix("gpubench_run_dcgm_") + "".join(kinds)] = float(value)
    return found


def test_every_number_of_a_valid_run_is_exported() -> None:
    assert exported(FULL, ValidityStatus.VALID) == {
        "coverage_ratio": 0.8,
        "samples": 80.0,
        "expected_samples": 100.0,
        "refresh_seconds": 1.0,
        "xid_errors": 0.0,
        "utilization_ratio": 0.9,
        "graphics_active_ratio": 0.8,
        "sm_active_ratio": 0.7,
        "tensor_active_ratio": 0.25,
        "dram_active_ratio": 0.5,
        "memory_copy_ratio": 0.3,
        "memory_used_bytes": 2.0**34,
        "power_watts": 300.0,
        "energy_joules": 30_000.0,
        "energy_error_joules": 350.0,
        "temperature_celsius": 66.0,
        "sm_clock_mhz": 1755.0,
        "memory_clock_mhz": 2619.0,
        'traffic_byteskind="pcie_receive"': 1.0,
        'traffic_byteskind="pcie_transmit"': 2.0,
        'traffic_byteskind="nvlink_receive"': 3.0,
        'traffic_byteskind="nvlink_transmit"': 4.0,
    }


def test_of_an_invalid_run_only_coverage_and_xid_errors_are() -> None:
    broken = FULL.model_copy(update={"xid_errors": [31, 79]})
    assert exported(broken, ValidityStatus.INVALID) == {
        "coverage_ratio": 0.8,
        "samples": 80.0,
        "expected_samples": 100.0,
        "refresh_seconds": 1.0,
        "xid_errors": 2.0,
    }


def test_a_run_that_dcgm_did_not_see_has_none() -> None:
    assert exported(None, ValidityStatus.VALID) == {}
