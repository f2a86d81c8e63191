"""Energy over a window from samples, with a bound on how far it may be off. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpubench.api.enums import EnergySource
from gpubench.telemetry.dcgm.fields import Field
from gpubench.telemetry.dcgm.history import DEFAULT_REFRESH_SECONDS, Sample

LEAST_OBSERVED = 0.5
"""Share of the window that must lie between samples; of less, no energy is told."""


@dataclass(frozen=True)
class Window:
    """The time that numbers are of, in seconds since the epoch."""

    start: float
    end: float
    uncertainty: float = 0.0
    """It may lie so many seconds earlier or later; its length is known."""

    @property
    def seconds(self) -> float:
        """Length."""
        return max(self.end - self.start, 0.0)


@dataclass(frozen=True)
class Energy:
    """An energy in joules."""

    joules: float
    error: float
    """The true energy is no further away, as long as power stayed within what was seen."""
    source: EnergySource


@dataclass(frozen=True)
class _Piece:
    """What is known of the energy between two moments."""

    joules: float
    error: float


@dataclass(frozen=True)
class _Range:
    """The power that was seen."""

    low: float
    mean: float
    high: float

    def guess(self, seconds: float) -> _Piece:
        """Return the energy of a time that was not looked at."""
        most = max(self.high - self.mean, self.mean - self.low)
        return _Piece(self.mean * seconds, most * seconds)


def energy(
    samples: Sequence[Sample], window: Window, refresh: float = DEFAULT_REFRESH_SECONDS
) -> Energy | None:
    """Return the energy of a window; None where too little of it was looked at.

    From the GPU's counter where it has one: the difference, which is exact but for the two ends of
    the window. Else by the trapezoidal rule over power. The bound takes power to have stayed
    between the lowest and the highest that was seen: between two samples p and q, t seconds apart,
    the truth lies between low*t and high*t. What lies outside of the samples is the mean power
    times its length, and adds to the bound in the same way, as does the time that samples may be
    older than they were seen.
    """
    source, has = EnergySource.COUNTER, [s for s in samples if Field.ENERGY in s.values]
    if len(has) < 2:
        source, has = EnergySource.POWER, [s for s in samples if Field.POWER in s.values]
    near = _around(has, window)
    power = _range(has, near, source)
    if len(near) < 2 or power is None:
        return None
    first, last = max(near[0].time, window.start), min(near[-1].time, window.end)
    observed = max(last - first, 0.0)
    if observed < LEAST_OBSERVED * window.seconds or window.seconds == 0.0:
        return None
    pieces = [_between(a, b, window, power, source) for a, b in pairwise(near)]
    pieces.append(power.guess(window.seconds - observed))
    # A window that lies elsewhere loses at one end what it gains at the other. A sample that is
    # older than it seems stands for a longer or shorter time.
    age = max(_age(near[0], refresh), _age(near[-1], refresh))
    return Energy(
        joules=sum(piece.joules for piece in pieces),
        error=sum(piece.error for piece in pieces)
        + window.uncertainty * (power.high - power.low)
        + age * power.high,
        source=source,
    )


def _around(samples: Sequence[Sample], window: Window) -> list[Sample]:
    """Return the samples in a window and the nearest one on each side."""
    before = [s for s in samples if s.time < window.start][-1:]
    within = [s for s in samples if window.start <= s.time <= window.end]
    after = [s for s in samples if s.time > window.end][:1]
    return [*before, *within, *after]


def _age(sample: Sample, refresh: float) -> float:
    """Return how old a sample may be: no older than the exporter's rhythm makes it."""
    return min(sample.age, refresh)


def _range(
    samples: Sequence[Sample], near: Sequence[Sample], source: EnergySource
) -> _Range | None:
    """Return the power that was ever seen, and its mean near the window."""
    seen = _powers(samples) + [joules / seconds for joules, seconds in _rises(samples, source)]
    powers, rises = _powers(near), _rises(near, source)
    if rises:
        mean = sum(joules for joules, _ in rises) / sum(seconds for _, seconds in rises)
    elif powers:
        mean = sum(powers) / len(powers)
    else:
        return None
    return _Range(min(seen), mean, max(seen))


def _powers(samples: Sequence[Sample]) -> list[float]:
    return [s.values[Field.POWER] for s in samples if Field.POWER in s.values]


def _rises(samples: Sequence[Sample], source: EnergySource) -> list[tuple[float, float]]:
    """Return by how much the counter rose in how many seconds, from sample to sample."""
    if source is not EnergySource.COUNTER:
        return []
    rises = [
        (b.values[Field.ENERGY] - a.values[Field.ENERGY], b.time - a.time)
        for a, b in pairwise(samples)
        if b.time > a.time
    ]
    return [(joules, seconds) for joules, seconds in rises if joules >= 0.0]


def _between(a: Sample, b: Sample, window: Window, power: _Range, source: EnergySource) -> _Piece:
    """Return the energy of that part of the time between two samples that is in the window."""
    start, end = max(a.time, window.start), min(b.time, window.end)
    seconds, length = max(end - start, 0.0), b.time - a.time
    if seconds == 0.0 or length <= 0.0:
        return _Piece(0.0, 0.0)
    if source is EnergySource.COUNTER:
        rise = b.values[Field.ENERGY] - a.values[Field.ENERGY]
        if rise < 0.0:
            # The counter began anew: a driver was loaded again.
            return power.guess(seconds)
        joules = rise * seconds / length
        if seconds == length:
            return _Piece(joules, 0.0)
        # How the rise is split at the window's edge is not known, only its power's bounds.
        rest = length - seconds
        low = max(power.low * seconds, rise - power.high * rest)
        high = min(power.high * seconds, rise - power.low * rest)
        return _Piece(joules, max(high - joules, joules - low, 0.0))
    return _trapezoid(a, b, start, end, power)


def _trapezoid(a: Sample, b: Sample, start: float, end: float, power: _Range) -> _Piece:
    p, q = a.values[Field.POWER], b.values[Field.POWER]

    def at(moment: float) -> float:
        return p + (q - p) * (moment - a.time) / (b.time - a.time)

    seconds = end - start
    mean = (at(start) + at(end)) / 2
    return _Piece(mean * seconds, max(power.high - mean, mean - power.low) * seconds)
