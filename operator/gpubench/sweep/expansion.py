"""A benchmark -> its plan: every point checked, hashed and named before the first run starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from pydantic import ValidationError

from gpubench.api.benchmark import GPUBenchmark, GPUBenchmarkSpec, Workload
from gpubench.api.errors import Problem, SpecError
from gpubench.api.problems import describe_validation_error
from gpubench.api.schema import structural_schema
from gpubench.api.sweep import MAX_POINTS, PARAMETER_FIELDS, Sweep
from gpubench.sweep.exclusion import Exclusion
from gpubench.sweep.hashing import PointHasher
from gpubench.sweep.order import plan_runs
from gpubench.sweep.parameters import (
    Values,
    base_values,
    displayed,
    foreign_parameters,
    given_values,
)
from gpubench.sweep.plan import Plan, Point, describe_parameters

MAX_RUNS = 100_000
MAX_SHOWN_PROBLEMS = 10

MATRIX = "spec.sweep.matrix"


def expand(benchmark: GPUBenchmark) -> Plan:
    """Return the plan of a benchmark: (matrix without exclude) with include, repeated and ordered.

    Axes vary in the order in which the spec's reference lists them, the last one fastest: the
    order in a file is lost on the API server, and a sweep is the same there and on one machine.

    Raises:
        SpecError: a point cannot be run, two are the same, or there are too many or none.
    """
    spec = benchmark.spec
    sweep = spec.sweep
    _raise_if_any(list(foreign_parameters(spec)))
    _check_points(sweep)
    points = _make_points(spec, list(_combinations(sweep, base_values(spec))))
    _check_runs(len(points), sweep.repetitions)
    return Plan(
        benchmark.name,
        points,
        plan_runs(benchmark.name, points, sweep.repetitions, sweep.order, sweep.order_seed),
    )


@dataclass(frozen=True, slots=True)
class _Combination:
    """The values of one point to be, and where in the spec it comes from."""

    path: str
    changes: Values
    values: Values


def _check_points(sweep: Sweep) -> None:
    """Refuse a sweep that is too large before any of it is expanded."""
    combinations = prod(len(axis) for axis in given_values(sweep.matrix).values())
    count = combinations + len(sweep.include)
    if count > MAX_POINTS:
        raise SpecError.of(
            MATRIX,
            f"{count:,} points (before exclude); allowed: at most {MAX_POINTS:,}",
        )


def _check_runs(points: int, repetitions: int) -> None:
    if points * repetitions > MAX_RUNS:
        raise SpecError.of(
            "spec.sweep.repetitions",
            f"{points:,} points x {repetitions} repetitions are {points * repetitions:,} runs; "
            f"allowed: at most {MAX_RUNS:,}",
        )


def _combinations(sweep: Sweep, base: Values) -> Iterator[_Combination]:
    axes = given_values(sweep.matrix)
    exclusion = Exclusion(sweep.exclude)
    _raise_if_any(exclusion.empty_entries())
    kept = 0
    for combination in product(*axes.values()):
        changes = dict(zip(axes, combination, strict=True))
        values = {**base, **changes}
        if not exclusion.leaves_out(values):
            kept += 1
            yield _Combination(MATRIX, changes, values)
    _raise_if_any(exclusion.idle_entries())
    if not kept and not sweep.include:
        raise SpecError.of("spec.sweep.exclude", "leaves out every point of the matrix")
    for index, entry in enumerate(sweep.include):
        changes = given_values(entry)
        yield _Combination(f"spec.sweep.include[{index}]", changes, {**base, **changes})


def _make_points(spec: GPUBenchmarkSpec, combinations: list[_Combination]) -> tuple[Point, ...]:
    swept = {name for combination in combinations for name in combination.changes}
    names = [name for name in PARAMETER_FIELDS if name in swept]
    maker = _PointMaker(spec)
    points: dict[str, tuple[Point, _Combination]] = {}
    problems: list[Problem] = []
    for combination in combinations:
        shown = displayed({name: combination.values[name] for name in names})
        try:
            point = maker.make(combination, shown)
        except ValidationError as error:
            problems += _invalid_point(error, combination, spec)
            continue
        if (twin := points.get(point.point_hash)) is not None:
            problems.append(_same_points(point, combination, *twin))
        points[point.point_hash] = (point, combination)
    _raise_if_any(problems)
    return tuple(point for point, _ in points.values())


class _PointMaker:
    """Makes the points of one benchmark; what they share is prepared once."""

    def __init__(self, spec: GPUBenchmarkSpec) -> None:
        chosen = spec.workload.parameters
        self._model = type(chosen)
        self._fields: dict[str, Any] = dict(chosen)
        self._dataset: dict[str, Any] = dict(chosen.dataset)
        self._kind = "image_recognition" if spec.workload.image_recognition else "llm_tuning"
        self._hasher = PointHasher(spec)

    def make(self, combination: _Combination, parameters: Mapping[str, Any]) -> Point:
        """Return a point; raises pydantic's ValidationError if its values do not go together."""
        changes = dict(combination.changes)
        changes.pop("gpus", None)
        if "dataset" in changes:
            changes["dataset"] = self._dataset | {"name": changes["dataset"]}
        fields = self._model.model_validate(self._fields | changes)
        workload = Workload.model_validate({self._kind: fields})
        gpus = combination.values["gpus"]
        point_hash = self._hasher.hash_point(workload, gpus)
        return Point(point_hash, gpus, workload, parameters)


def _invalid_point(
    error: ValidationError, combination: _Combination, spec: GPUBenchmarkSpec
) -> list[Problem]:
    schema = structural_schema(type(spec.workload.parameters))
    return [
        Problem(combination.path, f"{_describe(combination)}: {problem}")
        for problem in describe_validation_error(error, schema)
    ]


def _same_points(
    point: Point, combination: _Combination, twin: Point, twin_combination: _Combination
) -> Problem:
    return Problem(
        combination.path,
        f"{point.describe()}: the same point as {twin.describe()} of {twin_combination.path}",
    )


def _describe(combination: _Combination) -> str:
    return describe_parameters(displayed(combination.changes))


def _raise_if_any(problems: list[Problem]) -> None:
    if not problems:
        return
    shown = problems[:MAX_SHOWN_PROBLEMS]
    if further := len(problems) - len(shown):
        shown.append(Problem("spec.sweep", f"and {further:,} further problems like these"))
    raise SpecError(shown)
