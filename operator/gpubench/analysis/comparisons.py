"""Points against baselines that differ from them in one parameter and in nothing else."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpubench.analysis.metrics import PROGRESS_RATE, TOTAL_TIME, Metric
from gpubench.analysis.parameters import (
    GPUS,
    MAX_STEPS,
    PIN_MEMORY,
    PRECISION,
    STRATEGY,
    ParameterValue,
    display_value,
    phrase,
    title_of,
)
from gpubench.analysis.statistics import Estimate, divide, scale
from gpubench.analysis.study import Point

# What each parameter is compared with, in order of preference. Only parameters that leave the
# work the same are here: twice the image size is other work, not a slower way to do it.
_BASELINES: dict[str, tuple[ParameterValue, ...]] = {
    GPUS: (1,),
    PRECISION: ("FP64", "FP32"),
    PIN_MEMORY: (False,),
    STRATEGY: ("DDP",),
    "memoryFormat": ("Contiguous",),
    "compile": ("Disabled",),
    "inputPipeline": ("DataLoader",),
    "casting": ("Pure",),
    "workers": (0,),
    "optimizer": ("Adam",),
    "method": ("LoRA",),
    "packed": (False,),
    "activationCheckpointing": ("Disabled",),
}

# A parameter that has a meaning only together with another one changes with it.
_DEPENDENT = {PRECISION: frozenset({"casting"})}


@dataclass(frozen=True)
class Comparison:
    """Against which value of which parameter points are compared."""

    parameter: str
    baseline: ParameterValue

    def title(self, *, on_cpu: bool = False) -> str:
        """The head of the paper's column: "Compared to FP64"."""
        if self.parameter == GPUS:
            return f"Compared to {phrase(GPUS, self.baseline, on_cpu=on_cpu)}"
        value = display_value(self.parameter, self.baseline)
        if isinstance(self.baseline, bool | int):
            return f"Compared to {title_of(self.parameter).lower()} {value}"
        return f"Compared to {value}"


def find_baseline(point: Point, comparison: Comparison, points: Iterable[Point]) -> Point | None:
    """Return the valid point that differs in the compared parameter only, on the same device.

    None for the baseline itself, where no such point exists, and where it has no valid result.
    """
    return _look_up(point, comparison, index_baselines(points, comparison))


BaselineIndex = Mapping[Hashable, Point]


def index_baselines(points: Iterable[Point], comparison: Comparison) -> BaselineIndex:
    """Return the points that can be a baseline, by everything that must be equal."""
    return {
        _rest(point, comparison): point
        for point in points
        if point.results and _value(point, comparison) == comparison.baseline
    }


def _look_up(point: Point, comparison: Comparison, index: BaselineIndex) -> Point | None:
    if _value(point, comparison) == comparison.baseline:
        return None
    return index.get(_rest(point, comparison))


def _value(point: Point, comparison: Comparison) -> ParameterValue:
    return point.parameters.get(comparison.parameter)


def _rest(point: Point, comparison: Comparison) -> Hashable:
    left_out = {comparison.parameter} | _DEPENDENT.get(comparison.parameter, frozenset())
    rest = (item for item in point.parameters.items() if item[0] not in left_out)
    return (point.device, frozenset(rest))


def comparisons_of(points: Sequence[Point], axes: Sequence[str]) -> tuple[Comparison, ...]:
    """Return the comparisons that at least one of the points allows."""
    found = []
    for axis in axes:
        for value in _BASELINES.get(axis, ()):
            comparison = Comparison(axis, value)
            index = index_baselines(points, comparison)
            if any(point.results and _look_up(point, comparison, index) for point in points):
                found.append(comparison)
                break
    return tuple(found)


@dataclass(frozen=True)
class SpeedBasis:
    """The quantity that tells how fast a point is."""

    metric: Metric
    is_time: bool

    def ratio(self, point: Point, baseline: Point) -> Estimate | None:
        """Return how many times as fast as the baseline a point is."""
        ours, theirs = point.estimate(self.metric), baseline.estimate(self.metric)
        if ours is None or theirs is None:
            return None
        return divide(theirs, ours) if self.is_time else divide(ours, theirs)


BY_TIME = SpeedBasis(TOTAL_TIME, is_time=True)
BY_RATE = SpeedBasis(PROGRESS_RATE, is_time=False)


def speed_basis(point: Point) -> SpeedBasis:
    """Return what to compare by: the total time, as the paper does, where the work is the same.

    A run that stops after a number of steps does more work on more GPUs in the same time, so its
    progress through the dataset counts instead.
    """
    return BY_TIME if point.parameters.get(MAX_STEPS) is None else BY_RATE


SPEED_UP = Comparison(GPUS, 1)

Compare = Callable[[Point], Estimate | None]


def relative_speeds(points: Sequence[Point], comparison: Comparison) -> Compare:
    """Return the function that tells how many times as fast as its baseline a point is.

    That is time(baseline) / time(point); None where there is no baseline. Against one GPU, one
    GPU itself is 1, as the paper's table has it.
    """
    index = index_baselines(points, comparison)

    def compare(point: Point) -> Estimate | None:
        if comparison == SPEED_UP and point.gpus == 1:
            return Estimate(n=len(point.results), mean=1.0) if point.results else None
        baseline = _look_up(point, comparison, index)
        return speed_basis(point).ratio(point, baseline) if baseline else None

    return compare


def parallel_efficiencies(points: Sequence[Point]) -> Compare:
    """Return the function that tells a point's speed-up / N: 1 where N GPUs are N times as fast.

    The paper calls the speed-up itself, in percent, "efficiency compared to 1 GPU".
    """
    speed_up = relative_speeds(points, SPEED_UP)

    def compare(point: Point) -> Estimate | None:
        ratio = speed_up(point)
        return scale(ratio, 1 / point.gpus) if ratio else None

    return compare
