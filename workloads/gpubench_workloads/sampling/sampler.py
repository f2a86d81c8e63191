"""Looking at the GPUs once a second while the ranks run, and what came of it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean

import psutil

from gpubench.api.result import DeviceTelemetry, Telemetry
from gpubench_workloads.sampling import nvml
from gpubench_workloads.sampling.nvml import Gpu, GpuReading

PERIOD_SECONDS = 1.0


class GpuSampler:
    """Samples the visible GPUs in a thread of its own."""

    def __init__(self, *, enabled: bool) -> None:
        """Sample if `enabled`; a run on a CPU has nothing to sample."""
        self._gpus: list[Gpu] = []
        self._readings: dict[str, list[GpuReading]] = {}
        self._strangers_before: dict[str, frozenset[int]] = {}
        self._own_processes: set[int] = set()
        self._enabled = enabled
        self._stop = threading.Event()

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """Sample while the block runs, beginning with a look before anything is started."""
        if not self._enabled:
            yield
            return
        with nvml.session() as present:
            if not present:
                yield
                return
            self._gpus = nvml.visible_gpus()
            self._readings = {gpu.uuid: [] for gpu in self._gpus}
            self._strangers_before = {
                gpu.uuid: nvml.read(gpu, time.time()).processes for gpu in self._gpus
            }
            thread = threading.Thread(target=self._loop, daemon=True)
            thread.start()
            try:
                yield
            finally:
                self._stop.set()
                thread.join()

    def telemetry(self, start: float, end: float, *, expected_processes: int) -> Telemetry | None:
        """Return what was seen from `start` to `end` (seconds since the epoch); None on a CPU."""
        if not self._gpus:
            return None
        devices = [
            summarize_readings(
                gpu.uuid,
                [r for r in self._readings[gpu.uuid] if start <= r.time <= end],
                end - start,
                foreign=foreign_processes(
                    self._strangers_before[gpu.uuid],
                    [r.processes for r in self._readings[gpu.uuid]],
                    self._own_processes,
                    expected_processes,
                ),
            )
            for gpu in self._gpus
        ]
        return Telemetry(source="NVML", devices=devices)

    def _loop(self) -> None:
        while not self._stop.wait(PERIOD_SECONDS):
            self._own_processes |= _descendants()
            for gpu in self._gpus:
                self._readings[gpu.uuid].append(nvml.read(gpu, time.time()))


def summarize_readings(
    uuid: str, readings: Sequence[GpuReading], seconds: float, *, foreign: frozenset[int]
) -> DeviceTelemetry:
    """Reduce the readings of one GPU over a period of `seconds` to numbers.

    Energy is the difference of the GPU's own counter where it has one, scaled from the time
    between the first and last reading to the whole period; else mean power times the period.
    """

    def values(name: str) -> list[float]:
        return [value for r in readings if (value := getattr(r, name)) is not None]

    power, utilization, clock = (
        values(name) for name in ("power_watts", "utilization", "sm_clock_mhz")
    )
    memory = values("memory_used_bytes")
    return DeviceTelemetry(
        uuid=uuid,
        samples=len(readings),
        expected_samples=int(seconds / PERIOD_SECONDS),
        utilization_mean=fmean(utilization) if utilization else None,
        memory_used_peak_bytes=int(max(memory)) if memory else None,
        power_mean_watts=fmean(power) if power else None,
        energy_joules=_energy(readings, power, seconds),
        temperature_max_celsius=max(values("temperature_celsius"), default=None),
        sm_clock_mean_mhz=fmean(clock) if clock else None,
        throttle_reasons=sorted(frozenset().union(*(r.throttle_reasons for r in readings))),
        foreign_processes=sorted(foreign),
    )


def _energy(readings: Sequence[GpuReading], power: Sequence[float], seconds: float) -> float | None:
    counted = [(r.time, r.energy_joules) for r in readings if r.energy_joules is not None]
    if len(counted) >= 2:
        (first_time, first), (last_time, last) = counted[0], counted[-1]
        if last_time > first_time and last >= first:
            return (last - first) / (last_time - first_time) * seconds
    return fmean(power) * seconds if power else None


def foreign_processes(
    before: frozenset[int],
    seen: Sequence[frozenset[int]],
    own: set[int],
    expected: int,
) -> frozenset[int]:
    """Return processes of others on a GPU.

    Those that were there before the run are foreign. During the run all that are not our own are,
    where NVML's process ids are those of our namespace; in a container they may not be, and then
    more processes than we started are foreign, without a way to tell which.
    """
    during = frozenset().union(*seen) - before
    ids_are_comparable = bool(during & own)
    if ids_are_comparable:
        return before | (during - own)
    most_at_once = max((len(processes - before) for processes in seen), default=0)
    return before | (during if most_at_once > expected else frozenset())


def _descendants() -> set[int]:
    try:
        return {child.pid for child in psutil.Process(os.getpid()).children(recursive=True)}
    except psutil.NoSuchProcess:
        return set()
