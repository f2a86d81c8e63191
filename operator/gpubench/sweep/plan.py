"""What a sweep comes to: points, and the runs that execute them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpubench.api.benchmark import Workload

ParameterValue = str | int | bool


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of parameter values."""

    point_hash: str
    """Stable hash of what a run of this point does."""
    gpus: int
    """Ranks, or GPUs of DataParallel's one process."""
    workload: Workload
    """The training program with every parameter set."""
    parameters: Mapping[str, ParameterValue]
    """The values of the parameters that the sweep varies, by their names in a spec; every point of
    a plan has the same ones."""

    def describe(self) -> str:
        """Return the parameters in words: `gpus=2, precision=FP16`."""
        return describe_parameters(self.parameters)


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a point."""

    name: str
    """`<benchmark>-<hash>-<repetition>`."""
    point: Point
    """What it does."""
    repetition: int
    """Which repetition of its point, from 1."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole sweep."""

    benchmark: str
    """Name of the benchmark."""
    points: tuple[Point, ...]
    """In declared order."""
    runs: tuple[Run, ...]
    """In the order in which they start."""


def describe_parameters(parameters: Mapping[str, ParameterValue]) -> str:
    """Return parameters in words: `gpus=2, precision=FP16`."""
    words = [f"{name}={_word(value)}" for name, value in parameters.items()]
    return ", ".join(words) or "the workload as it stands"


def _word(value: ParameterValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
