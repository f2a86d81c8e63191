"""From samples to what a run's status tells: numbers, coverage, XID errors, doubts. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from gpubench.api.compact import CompactTelemetry
from gpubench.api.enums import EnergySource
from gpubench.api.run_telemetry import (
    MAX_CODES,
    MAX_GPUS,
    MAX_NOTE_LENGTH,
    MAX_NOTES,
    GpuTelemetry,
    RunTelemetry,
)
from gpubench.telemetry.dcgm.comparison import discrepancies
from gpubench.telemetry.dcgm.coverage import (
    expected_samples,
    gap_notes,
    is_final,
    watched_share,
)
from gpubench.telemetry.dcgm.energy import Window, energy
from gpubench.telemetry.dcgm.exposition import PodId
from gpubench.telemetry.dcgm.fields import (
    CIRCUMSTANCES,
    OF_THE_WHOLE_GPU,
    THROTTLE_REASONS,
    Field,
)
from gpubench.telemetry.dcgm.history import (
    DEFAULT_REFRESH_SECONDS,
    ExporterHistory,
    Sample,
    unfrozen,
)
from gpubench.telemetry.dcgm.join import Attempt, Join, JoinedGpu, join

SIGNIFICANT_DIGITS = 6
MEANS = {
    "utilization": Field.UTILIZATION,
    "graphics_active": Field.GRAPHICS_ACTIVE,
    "sm_active": Field.SM_ACTIVE,
    "tensor_active": Field.TENSOR_ACTIVE,
    "dram_active": Field.DRAM_ACTIVE,
    "memory_copy_utilization": Field.MEMORY_COPY_UTILIZATION,
    "power_watts": Field.POWER,
    "sm_clock_mhz": Field.SM_CLOCK,
    "memory_clock_mhz": Field.MEMORY_CLOCK,
}
SHARES = frozenset(
    {
        "utilization",
        "graphics_active",
        "sm_active",
        "tensor_active",
        "dram_active",
        "memory_copy_utilization",
    }
)
PEAKS = {"memory_used_bytes": Field.MEMORY_USED, "temperature_celsius": Field.TEMPERATURE}
RATES = {
    "pcie_receive_bytes": Field.PCIE_RECEIVE,
    "pcie_transmit_bytes": Field.PCIE_TRANSMIT,
    "nvlink_receive_bytes": Field.NVLINK_RECEIVE,
    "nvlink_transmit_bytes": Field.NVLINK_TRANSMIT,
}
WHOLE_NUMBERS = frozenset({"memory_used_bytes", *RATES})


def run_telemetry(
    attempt: Attempt,
    window: Window,
    exporters: Mapping[str, ExporterHistory],
    nvml: CompactTelemetry | None = None,
) -> RunTelemetry:
    """Return what the exporters of an attempt's node saw of it.

    `exporters` are by address. Numbers are of `window`, XID errors of the whole attempt. Where
    `nvml` is what the pod saw by itself, the two are compared.
    """
    found = join(attempt, exporters)
    gpus = [_gpu(each, attempt, window, found.notes) for each in found.gpus[:MAX_GPUS]]
    together = _together(gpus)
    expected = sum(gpu.expected_samples for gpu in gpus)
    got = sum(gpu.samples for gpu in gpus)
    used = [each.history for each in found.gpus] or list(exporters.values())
    coverage = min(got / expected, watched_share(window, used)) if expected else 0.0
    notes = [*found.notes, *gap_notes(attempt, window, exporters, coverage)]
    telemetry = RunTelemetry(
        attempt=attempt.number,
        joined_by=found.by if gpus else None,
        final=is_final(attempt, used),
        window_seconds=_rounded(window.seconds),
        refresh_seconds=_refresh(used),
        samples=got,
        expected_samples=expected,
        coverage=_rounded(coverage),
        gpus=gpus,
        **together,
    )
    if nvml is not None:
        notes += discrepancies(telemetry, nvml)
    return telemetry.model_copy(update={"notes": _bounded(notes)})


def _bounded(notes: Iterable[str]) -> list[str]:
    unique = list(dict.fromkeys(notes))[:MAX_NOTES]
    return [n if len(n) <= MAX_NOTE_LENGTH else n[: MAX_NOTE_LENGTH - 1] + "…" for n in unique]


def _refresh(histories: Sequence[ExporterHistory]) -> float | None:
    known = [h.refresh_seconds for h in histories if h.refresh_seconds is not None]
    return _rounded(max(known)) if known else None


def _gpu(each: JoinedGpu, attempt: Attempt, window: Window, notes: list[str]) -> GpuTelemetry:
    alive = unfrozen(each.samples)
    if len(alive) < len(each.samples):
        notes.append(f"{each.gpu.uuid} stood still while its exporter went on: not counted")
    inside = [s for s in alive if window.start <= s.time <= window.end]
    tells = _telling(each, attempt.pod)
    numbers: dict[str, Any] = {}
    for name, field in MEANS.items():
        numbers[name] = _mean(inside, tells, field)
    for name in SHARES:
        if numbers[name] is not None:
            numbers[name] = min(numbers[name], 1.0)
    for name, field in PEAKS.items():
        numbers[name] = max((v for s in inside if (v := tells(s, field)) is not None), default=None)
    for name, field in RATES.items():
        rate = _mean(inside, tells, field)
        numbers[name] = None if rate is None else rate * window.seconds
    numbers = {n: _number(n, v) for n, v in numbers.items()}
    refresh = each.history.refresh_seconds or DEFAULT_REFRESH_SECONDS
    used = None
    if not (each.shared or each.gpu.instance):
        used = energy(alive, window, refresh)
    return GpuTelemetry(
        uuid=each.gpu.uuid,
        instance=each.gpu.instance or None,
        profile=each.history.gpus[each.gpu].profile or None,
        shared=each.shared,
        samples=sum(sample.weight for sample in inside),
        expected_samples=expected_samples(window.seconds, refresh),
        energy_joules=_rounded(used.joules) if used else None,
        energy_error_joules=_rounded(used.error) if used else None,
        energy_source=used.source if used else None,
        throttle_reasons=_throttle_reasons(inside),
        xid_errors=_xid_errors(each.samples, attempt, refresh, notes),
        **numbers,
    )


Telling = Callable[[Sample, Field], float | None]


def _telling(each: JoinedGpu, pod: PodId) -> Telling:
    """Return how a sample is asked for what is the run's own."""

    def tell(sample: Sample, field: Field) -> float | None:
        if each.shared and field not in CIRCUMSTANCES:
            return sample.pod_values.get(pod, {}).get(field)
        if each.gpu.instance and field in OF_THE_WHOLE_GPU:
            return None
        return sample.values.get(field)

    return tell


def _mean(samples: Sequence[Sample], tells: Telling, field: Field) -> float | None:
    told = [(value, s.weight) for s in samples if (value := tells(s, field)) is not None]
    weight = sum(weight for _, weight in told)
    return sum(value * weight for value, weight in told) / weight if told else None


def _throttle_reasons(samples: Sequence[Sample]) -> list[str]:
    bits = 0
    for sample in samples:
        bits |= int(sample.values.get(Field.THROTTLE_REASONS, 0.0))
    return [name for bit, name in THROTTLE_REASONS.items() if bits & bit]


def _xid_errors(
    samples: Sequence[Sample], attempt: Attempt, refresh: float, notes: list[str]
) -> list[int]:
    """Return the XID errors that were new during the attempt.

    The exporter shows the last one for ever and each one's count for some minutes: only what
    changes while the attempt runs is its own.
    """
    found: set[int] = set()
    # What happens last shows with the first sample after the end.
    until = attempt.ended_at + refresh
    for before, sample in pairwise(samples):
        if not attempt.began_at <= sample.time <= until:
            continue
        xid = int(sample.values.get(Field.XID, 0.0))
        if xid and xid != int(before.values.get(Field.XID, 0.0)):
            found.add(xid)
        found |= {
            code
            for code, count in sample.xid_counts.items()
            if count > before.xid_counts.get(code, 0.0)
        }
        if before.time < attempt.began_at and sample.time - attempt.began_at > 2 * refresh:
            notes.append("nobody looked when the attempt began: its XID errors may be older ones")
    first = samples[0]
    if first.time > attempt.began_at and first.values.get(Field.XID, 0.0):
        notes.append(
            f"XID {int(first.values[Field.XID])} was there when the GPU was first looked at, "
            f"{first.time - attempt.began_at:.0f} s after the start: it may be older than the run"
        )
    return sorted(found)[:MAX_CODES]


def _together(gpus: Sequence[GpuTelemetry]) -> dict[str, Any]:
    """Return the numbers of several GPUs as one; a sum only where all of them tell."""

    def values(name: str) -> list[float]:
        return [value for gpu in gpus if (value := getattr(gpu, name)) is not None]

    numbers: dict[str, Any] = {}
    for name in MEANS:
        told = values(name)
        numbers[name] = sum(told) / len(told) if told else None
    for name in PEAKS:
        numbers[name] = max(values(name), default=None)
    for name in (*RATES, "energy_joules", "energy_error_joules"):
        told = values(name)
        numbers[name] = sum(told) if told and len(told) == len(gpus) else None
    numbers = {name: _number(name, value) for name, value in numbers.items()}
    sources = {gpu.energy_source for gpu in gpus}
    if numbers["energy_joules"] is not None:
        by_counter = sources == {EnergySource.COUNTER}
        numbers["energy_source"] = EnergySource.COUNTER if by_counter else EnergySource.POWER
    numbers["throttle_reasons"] = sorted({r for gpu in gpus for r in gpu.throttle_reasons})
    numbers["xid_errors"] = sorted({x for gpu in gpus for x in gpu.xid_errors})[:MAX_CODES]
    return numbers


def _number(name: str, value: float | None) -> float | int | None:
    if value is None:
        return None
    return round(value) if name in WHOLE_NUMBERS else _rounded(value)


def _rounded(value: float) -> float:
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else 0.0


__all__ = ["Attempt", "Join", "Window", "run_telemetry"]
