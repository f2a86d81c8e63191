"""What DCGM saw of runs as Prometheus metrics. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.metrics_core import Metric

from gpubench.api.enums import ValidityStatus
from gpubench.telemetry.run_sample import RunSample, labelled_gauge, run_gauge

COVERAGE = {
    "coverage": ("coverage_ratio", "Samples got over samples expected"),
    "samples": ("samples", "Samples got"),
    "expected_samples": ("expected_samples", "Samples expected"),
    "refresh_seconds": ("refresh_seconds", "How often the exporter had new values"),
}
NUMBERS = {
    "utilization": ("utilization_ratio", "Share of time with a kernel running"),
    "graphics_active": ("graphics_active_ratio", "Share of time with the engine active"),
    "sm_active": ("sm_active_ratio", "Share of multiprocessors with work"),
    "tensor_active": ("tensor_active_ratio", "Share of cycles with tensor cores active"),
    "dram_active": ("dram_active_ratio", "Share of cycles with the memory moving data"),
    "memory_copy_utilization": ("memory_copy_ratio", "Share of time with memory in use"),
    "memory_used_bytes": ("memory_used_bytes", "Most memory in use on a GPU"),
    "power_watts": ("power_watts", "Mean power of a GPU"),
    "energy_joules": ("energy_joules", "Energy of all GPUs"),
    "energy_error_joules": ("energy_error_joules", "The true energy is no further away"),
    "temperature_celsius": ("temperature_celsius", "Highest temperature"),
    "sm_clock_mhz": ("sm_clock_mhz", "Mean clock of the multiprocessors"),
    "memory_clock_mhz": ("memory_clock_mhz", "Mean clock of the memory"),
}
TRAFFIC = {
    "pcie_receive_bytes": "pcie_receive",
    "pcie_transmit_bytes": "pcie_transmit",
    "nvlink_receive_bytes": "nvlink_receive",
    "nvlink_transmit_bytes": "nvlink_transmit",
}


def dcgm_metrics(samples: Iterable[RunSample]) -> Iterator[Metric]:
    """Yield coverage and XID errors of all runs that DCGM saw, numbers of the valid ones only."""
    seen = [run for run in samples if run.telemetry is not None]
    for attribute, (name, text) in COVERAGE.items():
        yield _gauge(name, text, seen, attribute)
    errors = [(run, float(len(run.telemetry.xid_errors))) for run in seen if run.telemetry]
    yield run_gauge("dcgm_xid_errors", "Different XID errors during the run", errors)
    valid = [run for run in seen if run.validity is ValidityStatus.VALID]
    for attribute, (name, text) in NUMBERS.items():
        yield _gauge(name, text, valid, attribute)
    traffic = [
        (run, kind, float(value))
        for run in valid
        for attribute, kind in TRAFFIC.items()
        if (value := getattr(run.telemetry, attribute)) is not None
    ]
    yield labelled_gauge("dcgm_traffic_bytes", "Bytes over PCIe and NVLink", "kind", traffic)


def _gauge(name: str, text: str, runs: Iterable[RunSample], attribute: str) -> Metric:
    values = [(run, getattr(run.telemetry, attribute)) for run in runs]
    return run_gauge(f"dcgm_{name}", text, values)
