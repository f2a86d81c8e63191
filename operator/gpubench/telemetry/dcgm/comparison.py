"""What DCGM saw beside what NVML saw from inside the pod. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpubench.api.compact import CompactTelemetry
from gpubench.api.run_telemetry import RunTelemetry


@dataclass(frozen=True)
class Bound:
    """How far the two may be apart before it is noted."""

    name: str
    unit: str
    relative: float = 0.0
    """Of the larger one."""
    absolute: float = 0.0


BOUNDS = {
    "utilization": Bound("utilization", "", absolute=0.15),
    "power_watts": Bound("mean power", " W", relative=0.1, absolute=10.0),
    "energy_joules": Bound("energy", " J", relative=0.1),
    "memory_used_bytes": Bound("memory in use", " bytes", relative=0.1, absolute=2.0**29),
    "temperature_celsius": Bound("highest temperature", " °C", absolute=5.0),
    "sm_clock_mhz": Bound("mean SM clock", " MHz", relative=0.1, absolute=50.0),
}
"""By their names in both. NVML looks once a second, DCGM seldomer: bursts tell them apart."""


def discrepancies(dcgm: RunTelemetry, nvml: CompactTelemetry) -> Iterator[str]:
    """Yield what the two see differently, each as a sentence."""
    for name, bound in BOUNDS.items():
        ours, theirs = getattr(dcgm, name), getattr(nvml, name)
        if ours is None or theirs is None:
            continue
        allowed = bound.relative * max(abs(ours), abs(theirs)) + bound.absolute
        if name == "energy_joules":
            allowed += dcgm.energy_error_joules or 0.0
        if abs(ours - theirs) > allowed:
            yield (
                f"{bound.name}: {ours:.4g}{bound.unit} by DCGM, {theirs:.4g}{bound.unit} by NVML; "
                f"more than {allowed:.4g}{bound.unit} apart"
            )
