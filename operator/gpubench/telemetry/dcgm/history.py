"""What an exporter has shown over time: samples, the rhythm of its refresh, and gaps.

An exporter shows the same values until it has new ones, so a scrape is a sample only if something
in it differs from the scrape before. What it shows has no time of its own: a sample is from
between the last scrape that did not show it and the first that did.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from gpubench.telemetry.dcgm.exposition import Exposition, GpuId, GpuReading, PodId
from gpubench.telemetry.dcgm.fields import KINDS, Field, Kind

MAX_SAMPLES = 4096
"""Of each GPU; beyond that, neighbours are merged: 34 hours at an exporter's default of 30 s."""
MAX_GAPS = 256
PERIODS_LOOKED_AT = 64
MIN_PERIODS = 2
"""So many times from one refresh to the next make a rhythm."""
DEFAULT_REFRESH_SECONDS = 30.0
"""dcgm-exporter's own default."""
STALE_SECONDS = 300.0
"""Values that carry an older time than this are not taken, as in Prometheus."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a GPU showed once, or several times in a row that were merged."""

    time: float
    """When it was first seen, in seconds since the epoch by our clock."""
    age: float
    """It may have been taken so many seconds before; infinite where that is not known."""
    values: dict[Field, float]
    pods: frozenset[PodId]
    pod_values: dict[PodId, dict[Field, float]]
    xid_counts: dict[int, float]
    weight: int = 1
    """How many samples it stands for."""


@dataclass
class Gap:
    """A time without answers."""

    start: float
    """When the first scrape failed."""
    end: float
    """When the last one did."""
    reason: str
    failures: int = 1


@dataclass
class GpuHistory:
    """A GPU's samples, the oldest first."""

    profile: str = ""
    samples: list[Sample] = field(default_factory=list)


@dataclass
class ExporterHistory:
    """What one exporter has shown."""

    began_at: float | None = None
    """When it was first asked."""
    gpus: dict[GpuId, GpuHistory] = field(default_factory=dict)
    gaps: deque[Gap] = field(default_factory=lambda: deque(maxlen=MAX_GAPS))
    problems: tuple[str, ...] = ()
    """What could not be read the last time."""
    names_pods: bool = False
    """Whether it ever named a pod."""
    clock_offset: float | None = None
    """How far its clock is ahead of ours."""
    answered_at: float | None = None
    """When it last answered."""
    refreshed_at: float | None = None
    """When it last showed something new."""
    _shown: dict[GpuId, GpuReading] | None = None
    _periods: deque[float] = field(default_factory=lambda: deque(maxlen=PERIODS_LOOKED_AT))
    _is_interrupted: bool = True

    @property
    def refresh_seconds(self) -> float | None:
        """How often it has new values, as far as that has been seen."""
        return median(self._periods) if len(self._periods) >= MIN_PERIODS else None

    def fail(self, at: float, reason: str) -> None:
        """Take note of a scrape that gave nothing."""
        self.began_at = at if self.began_at is None else self.began_at
        self._is_interrupted = True
        last = self.gaps[-1] if self.gaps else None
        answered_since = (
            last is not None and self.answered_at is not None and self.answered_at > last.end
        )
        if last is None or answered_since or last.reason != reason:
            self.gaps.append(Gap(at, at, reason))
        else:
            last.end, last.failures = at, last.failures + 1

    def repeat(self, at: float) -> None:
        """Take note of a scrape that showed nothing new."""
        self.answered_at = at

    def add(self, exposition: Exposition, at: float, clock_offset: float | None = None) -> bool:
        """Take over a scrape; tell whether it showed something new."""
        self.began_at = at if self.began_at is None else self.began_at
        self.clock_offset = clock_offset
        self.problems = exposition.problems
        age = math.inf if self.answered_at is None else max(at - self.answered_at, 0.0)
        self.answered_at = at
        gpus = {g: r for g, r in exposition.gpus.items() if not self._is_stale(r, at)}
        if self._shown is not None and gpus == self._shown:
            return False
        if self._shown is not None:
            self._note_refresh(at)
        self._shown = gpus
        self._is_interrupted = False
        for gpu, reading in gpus.items():
            self._add_sample(gpu, reading, at, age)
        return True

    def _is_stale(self, reading: GpuReading, at: float) -> bool:
        """Tell whether values carry a time that is long past, by the exporter's own clock."""
        if reading.timestamp is None:
            return False
        return reading.timestamp < at + (self.clock_offset or 0.0) - STALE_SECONDS

    def _note_refresh(self, at: float) -> None:
        if not self._is_interrupted and self.refreshed_at is not None:
            self._periods.append(at - self.refreshed_at)
        # The first change ends a period that began before we looked.
        self.refreshed_at = at

    def _add_sample(self, gpu: GpuId, reading: GpuReading, at: float, age: float) -> None:
        known = self.gpus.setdefault(gpu, GpuHistory())
        known.profile = reading.profile
        self.names_pods |= bool(reading.pods)
        sample = Sample(
            time=at,
            age=age,
            values=reading.values,
            pods=frozenset(reading.pods),
            pod_values=reading.pod_values,
            xid_counts=reading.xid_counts,
        )
        known.samples.append(sample)
        if len(known.samples) > MAX_SAMPLES:
            known.samples = halved(known.samples)

    def forget_before(self, moment: float) -> None:
        """Forget samples that no run needs: all before the last one before this moment."""
        for gpu, known in list(self.gpus.items()):
            older = sum(1 for sample in known.samples if sample.time < moment)
            del known.samples[: max(older - 1, 0)]
            if not known.samples:
                del self.gpus[gpu]


def halved(samples: list[Sample]) -> list[Sample]:
    """Return samples merged two by two, except where pods came or went between the two."""
    kept: list[Sample] = []
    for first, second in zip(samples[::2], samples[1::2], strict=False):
        kept += [merged(first, second)] if first.pods == second.pods else [first, second]
    return kept + samples[len(samples) // 2 * 2 :]


def merged(first: Sample, second: Sample) -> Sample:
    """Return two samples as one, at the time of the second."""
    weight = first.weight + second.weight
    values = dict(first.values) | dict(second.values)
    for name in first.values.keys() & second.values.keys():
        a, b = first.values[name], second.values[name]
        match KINDS[name]:
            case Kind.MEAN:
                values[name] = (a * first.weight + b * second.weight) / weight
            case Kind.PEAK:
                values[name] = max(a, b)
            case Kind.BITS:
                values[name] = float(int(a) | int(b))
            case Kind.LAST:
                values[name] = b
    return Sample(
        time=second.time,
        age=second.age,
        values=values,
        pods=second.pods,
        pod_values=second.pod_values,
        xid_counts=second.xid_counts,
        weight=weight,
    )


def unfrozen(samples: list[Sample], refreshes: int = 3) -> list[Sample]:
    """Return the samples without those of a GPU that stopped while its exporter went on.

    Energy never stands still on a GPU that works: once it did for so many refreshes of the
    exporter, what was shown since it first stood still is old.
    """
    kept: list[Sample] = samples[:1]
    standing: list[Sample] = []
    for before, sample in pairwise(samples):
        if _stands_still(before, sample):
            standing.append(sample)
            continue
        kept += standing if len(standing) < refreshes else []
        standing = []
        kept.append(sample)
    return kept + (standing if len(standing) < refreshes else [])


def _stands_still(before: Sample, sample: Sample) -> bool:
    return Field.ENERGY in sample.values and sample.values == before.values
