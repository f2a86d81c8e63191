"""Runs grouped into points: the same parameters on the same device, nothing else together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpubench.analysis.inputs import ReportInput, ReportRun, Verdict
from gpubench.analysis.metrics import Metric
from gpubench.analysis.parameters import (
    GPUS,
    FlatParameters,
    ParameterValue,
    flat_parameters,
    phrase,
    sort_key,
)
from gpubench.analysis.statistics import Estimate, summarize
from gpubench.api.enums import DeviceKind
from gpubench.api.result import RunResult


@dataclass(frozen=True)
class DeviceModel:
    """A kind of machine part. Results of two of them are never compared or averaged."""

    kind: DeviceKind
    name: str

    @property
    def is_cpu(self) -> bool:
        return self.kind is DeviceKind.CPU

    @property
    def label(self) -> str:
        return f"CPU: {self.name}" if self.is_cpu else self.name


@dataclass(frozen=True)
class Point:
    """One combination of parameters on one device, with all its runs."""

    hash: str
    parameters: FlatParameters
    device: DeviceModel | None
    """None while no run of the point has told what it trains on."""
    runs: tuple[ReportRun, ...]

    @cached_property
    def results(self) -> tuple[RunResult, ...]:
        """The valid results; nothing else is averaged, compared or a baseline."""
        return tuple(run.valid_result for run in self.runs if run.valid_result is not None)

    @property
    def gpus(self) -> int:
        return self.runs[0].gpus

    def estimate(self, metric: Metric) -> Estimate | None:
        """Return a quantity's mean and spread over the valid repetitions."""
        return summarize(metric.read(result) for result in self.results)

    def label(self, axes: Sequence[str]) -> str:
        """Return the point in words: "4 GPUs · FP16"."""
        words = [self.phrase(axis) for axis in axes]
        return " · ".join(words) or "The only point"

    @property
    def is_on_cpu(self) -> bool:
        """Whether what the spec calls GPUs were ranks on a processor."""
        return self.device is not None and self.device.is_cpu

    def phrase(self, axis: str) -> str:
        """Return one parameter in words."""
        return phrase(axis, self.parameters.get(axis), on_cpu=self.is_on_cpu)


@dataclass(frozen=True)
class Study:
    """A benchmark's runs, sorted out."""

    input: ReportInput
    points: tuple[Point, ...]
    axes: tuple[str, ...]
    """Parameters that vary over the runs: the columns of every table."""
    constants: FlatParameters
    """Parameters that do not, stated once."""

    @property
    def devices(self) -> tuple[DeviceModel, ...]:
        """Every device that a run trained on, GPUs first."""
        known = {point.device for point in self.points if point.device}
        return tuple(sorted(known, key=lambda device: (device.is_cpu, device.name)))

    @property
    def is_on_cpu(self) -> bool:
        """Whether every known device is a processor."""
        return bool(self.devices) and all(device.is_cpu for device in self.devices)

    @property
    def verdicts(self) -> Counter[Verdict]:
        return Counter(run.verdict for run in self.input.runs)

    def points_on(self, device: DeviceModel | None) -> tuple[Point, ...]:
        return tuple(point for point in self.points if point.device == device)


def build_study(report_input: ReportInput) -> Study:
    """Sort the runs of a benchmark into points, axes and constants."""
    runs = tuple(report_input.runs)
    flat = [flat_parameters(run.workload, run.gpus) for run in runs]
    axes = _axes(runs, flat)
    constants = {name: value for name, value in _first(flat).items() if name not in axes}
    return Study(
        input=report_input,
        points=_points(runs, flat, axes),
        axes=axes,
        constants=constants,
    )


def _first(flat: list[dict[str, ParameterValue]]) -> dict[str, ParameterValue]:
    return flat[0] if flat else {}


def _axes(runs: Sequence[ReportRun], flat: Sequence[dict[str, ParameterValue]]) -> tuple[str, ...]:
    """Return the parameters with several values: GPUs first, as in the paper, then as swept."""
    names = list(dict.fromkeys(name for parameters in flat for name in parameters))
    varying = [name for name in names if len({parameters.get(name) for parameters in flat}) > 1]
    swept = list(dict.fromkeys(name for run in runs for name in run.parameters))
    order = [GPUS, *swept, *names]
    return tuple(sorted(varying, key=order.index))


def _points(
    runs: Sequence[ReportRun],
    flat: Sequence[dict[str, ParameterValue]],
    axes: Sequence[str],
) -> tuple[Point, ...]:
    devices = _devices(runs)
    groups: dict[tuple[str, DeviceModel | None], list[int]] = {}
    for index, run in enumerate(runs):
        groups.setdefault((run.point_hash, devices[index]), []).append(index)
    points = [
        Point(
            hash=point_hash,
            parameters=flat[indices[0]],
            device=device,
            runs=tuple(runs[index] for index in indices),
        )
        for (point_hash, device), indices in groups.items()
    ]
    return tuple(sorted(points, key=lambda point: _point_order(point, axes)))


def _point_order(point: Point, axes: Sequence[str]) -> tuple[object, ...]:
    values = tuple(sort_key(axis, point.parameters.get(axis)) for axis in axes)
    return (*values, str(point.device), point.hash)


def _devices(runs: Iterable[ReportRun]) -> list[DeviceModel | None]:
    """Return each run's device.

    A run that never got as far as to tell counts to the only device there is; among several it
    stays without one.
    """
    told = [DeviceModel(run.device.kind, run.device.name) if run.device else None for run in runs]
    known = {device for device in told if device}
    only = known.pop() if len(known) == 1 else None
    return [device or only for device in told]
