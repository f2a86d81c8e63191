"""A narrow, typed view of NVML: everything is absent, never an error, where there is no GPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pynvml

THROTTLE_REASONS = {
    "SwPowerCap": pynvml.nvmlClocksThrottleReasonSwPowerCap,
    "HwSlowdown": pynvml.nvmlClocksThrottleReasonHwSlowdown,
    "SyncBoost": pynvml.nvmlClocksThrottleReasonSyncBoost,
    "SwThermalSlowdown": pynvml.nvmlClocksThrottleReasonSwThermalSlowdown,
    "HwThermalSlowdown": pynvml.nvmlClocksThrottleReasonHwThermalSlowdown,
    "HwPowerBrakeSlowdown": pynvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown,
}
"""Reasons that tell of clocks held down; idle and clocks set by the user are not among them."""


@dataclass(frozen=True)
class Gpu:
    """A GPU and NVML's handle of it."""

    index: int
    uuid: str
    name: str
    handle: Any


@dataclass(frozen=True)
class GpuReading:
    """One look at a GPU; None for what it does not tell. Time in seconds since the epoch."""

    time: float
    utilization: float | None
    memory_used_bytes: int | None
    power_watts: float | None
    energy_joules: float | None
    temperature_celsius: float | None
    sm_clock_mhz: float | None
    throttle_reasons: frozenset[str]
    processes: frozenset[int]


@contextmanager
def session() -> Iterator[bool]:
    """Hold NVML open; yields whether there is one."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield False
        return
    try:
        yield True
    finally:
        pynvml.nvmlShutdown()


def visible_gpus() -> list[Gpu]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES leaves to this process, in its order."""
    with session() as present:
        if not present:
            return []
        return select_visible(_all_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))


def select_visible(gpus: list[Gpu], variable: str | None) -> list[Gpu]:
    """Return the GPUs that a value of CUDA_VISIBLE_DEVICES names, by index or UUID.

    As CUDA reads it: the list ends at the first entry that names none.
    """
    if variable is None:
        return gpus
    selected: list[Gpu] = []
    for entry in (part.strip() for part in variable.split(",")):
        match = next((g for g in gpus if entry == str(g.index)), None) or next(
            (g for g in gpus if entry and g.uuid.startswith(entry)), None
        )
        if match is None:
            break
        selected.append(match)
    return selected


def read(gpu: Gpu, time: float) -> GpuReading:
    """Look at a GPU now; call within a `session`."""
    handle = gpu.handle
    energy_millijoules = _attempt(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle)
    power_milliwatts = _attempt(pynvml.nvmlDeviceGetPowerUsage, handle)
    utilization = _attempt(pynvml.nvmlDeviceGetUtilizationRates, handle)
    memory = _attempt(pynvml.nvmlDeviceGetMemoryInfo, handle)
    temperature = _attempt(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU)
    clock = _attempt(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM)
    reasons = _attempt(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle) or 0
    processes = _attempt(pynvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
    return GpuReading(
        time=time,
        utilization=None if utilization is None else utilization.gpu / 100,
        memory_used_bytes=None if memory is None else int(memory.used),
        power_watts=None if power_milliwatts is None else power_milliwatts / 1000,
        energy_joules=None if energy_millijoules is None else energy_millijoules / 1000,
        temperature_celsius=None if temperature is None else float(temperature),
        sm_clock_mhz=None if clock is None else float(clock),
        throttle_reasons=frozenset(n for n, bit in THROTTLE_REASONS.items() if reasons & bit),
        processes=frozenset(int(process.pid) for process in processes),
    )


def driver_versions() -> dict[str, str]:
    """Return the versions of the driver and of the CUDA that it offers."""
    with session() as present:
        if not present:
            return {}
        version = int(pynvml.nvmlSystemGetCudaDriverVersion())
        return {
            "driver": str(pynvml.nvmlSystemGetDriverVersion()),
            "driverCuda": f"{version // 1000}.{version % 1000 // 10}",
        }


def topology() -> dict[str, str]:
    """Return how many GPUs of which model the machine has."""
    with session() as present:
        names = [gpu.name for gpu in _all_gpus()] if present else []
    counts = {name: names.count(name) for name in names}
    return {"gpus": ", ".join(f"{n} x {name}" for name, n in counts.items())} if counts else {}


def _all_gpus() -> list[Gpu]:
    gpus = []
    for index in range(pynvml.nvmlDeviceGetCount()):
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        uuid = str(pynvml.nvmlDeviceGetUUID(handle))
        gpus.append(Gpu(index, uuid, str(pynvml.nvmlDeviceGetName(handle)), handle))
    return gpus


def _attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call NVML; None where the GPU does not tell."""
    try:
        return function(*arguments)
    except pynvml.NVMLError:
        return None
