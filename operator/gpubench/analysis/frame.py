"""One row per run, for spreadsheets and notebooks.

A column that stands in the run's result has the path that it has there (`timing.trainingSeconds`);
a parameter has its name in the spec (`imageSize`). Invalid runs have their numbers too, so filter
by `verdict`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from enum import Enum
from types import UnionType
from typing import Any, Union, get_args, get_origin

import polars as pl

from gpubench.analysis.inputs import ReportInput, ReportRun
from gpubench.analysis.metrics import DEVICE_MEMORY, ENERGY, MAIN_MEMORY, POWER, UTILIZATION, Metric
from gpubench.analysis.parameters import NOT_COMPARED, flat_parameters
from gpubench.api import result as results
from gpubench.api.base import ApiModel
from gpubench.api.result import RunResult

Schema = dict[str, type[pl.DataType]]

_IDENTITY: Schema = {
    "benchmark": pl.String,
    "run": pl.String,
    "pointHash": pl.String,
    "repetition": pl.Int64,
    "state": pl.String,
    "verdict": pl.String,
    "attempts": pl.Int64,
    "acceptedAttempt": pl.Int64,
    "failedGates": pl.String,
    "failure.failureClass": pl.String,
    "failure.message": pl.String,
}

# Each part of a result whose single values become columns.
_PARTS: tuple[tuple[str, type[ApiModel], Callable[[RunResult], ApiModel | None]], ...] = (
    ("device", results.Device, lambda result: result.device),
    ("timing", results.Timing, lambda result: result.timing),
    (
        "timing.iteration",
        results.Distribution,
        lambda result: result.timing.iteration if result.timing else None,
    ),
    (
        "timing.phases",
        results.StepPhases,
        lambda result: result.timing.phases if result.timing else None,
    ),
    ("throughput", results.Throughput, lambda result: result.throughput),
    ("work", results.Work, lambda result: result.work),
    ("quality", results.Quality, lambda result: result.quality),
    ("efficiency", results.Efficiency, lambda result: result.efficiency),
    ("profile", results.Profile, lambda result: result.profile),
    ("provenance", results.Provenance, lambda result: result.provenance),
)

# Means, sums and maxima over ranks or GPUs have no path in a result; the factor undoes the
# metric's display unit.
_AGGREGATES: tuple[tuple[str, Metric, float], ...] = (
    ("memory.maxAllocatedBytes", DEVICE_MEMORY, 2**30),
    ("memory.maxResidentBytes", MAIN_MEMORY, 2**30),
    ("telemetry.meanUtilization", UTILIZATION, 0.01),
    ("telemetry.totalPowerWatts", POWER, 1.0),
    ("telemetry.totalEnergyJoules", ENERGY, 1e3),
)

# A spreadsheet runs a text that begins like this as a formula (OWASP, "CSV Injection").
_FORMULA = r"^[=+\-@\t\r]"

_SCALARS: dict[type, type[pl.DataType]] = {
    bool: pl.Boolean,
    int: pl.Int64,
    float: pl.Float64,
    str: pl.String,
}


def run_frame(report_input: ReportInput) -> pl.DataFrame:
    """Return every run of the benchmark, with or without a result, as one table."""
    parameters = type(report_input.benchmark.spec.workload.parameters)
    rows = [_row(report_input.benchmark.name, run) for run in report_input.runs]
    fixed: Schema = {**_IDENTITY, "gpus": pl.Int64, **_parameter_schema(parameters)}
    for prefix, model, _ in _PARTS:
        fixed |= {f"{prefix}.{name}": kind for name, kind in _scalar_fields(model).items()}
    fixed |= {name: pl.Float64 for name, _, _ in _AGGREGATES}
    further = {name: value for row in rows for name, value in row.items() if name not in fixed}
    schema = fixed | {name: _SCALARS[type(value)] for name, value in further.items()}
    columns = {name: [row.get(name) for row in rows] for name in schema}
    return pl.DataFrame(columns, schema=schema)


def to_csv(frame: pl.DataFrame) -> str:
    """Return the table as CSV; a text that a spreadsheet would run gets an apostrophe in front."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    guarded = frame.with_columns(
        pl.when(pl.col(name).str.contains(_FORMULA))
        .then(pl.concat_str(pl.lit("'"), pl.col(name)))
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    )
    return guarded.write_csv()


def to_parquet(frame: pl.DataFrame) -> bytes:
    """Return the table as a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _scalar_fields(model: type[ApiModel]) -> Schema:
    """Return the fields of a model that hold one value each, under their names in JSON."""
    found: Schema = {}
    for name, field in model.model_fields.items():
        kind = _scalar_type(field.annotation)
        if kind:
            found[field.alias or name] = kind
    return found


def _scalar_type(annotation: Any) -> type[pl.DataType] | None:
    """Return the column type of a field's annotation, None for lists, mappings and models."""
    if get_origin(annotation) in (Union, UnionType):
        kinds = [_scalar_type(inner) for inner in get_args(annotation) if inner is not type(None)]
        return kinds[0] if len(kinds) == 1 else None
    inner = getattr(annotation, "__metadata__", None)
    if inner is not None:
        return _scalar_type(get_args(annotation)[0])
    if not isinstance(annotation, type):
        # A Literal of words or of an enum's members.
        return pl.String if all(isinstance(v, str) for v in get_args(annotation)) else None
    if issubclass(annotation, Enum):
        return pl.String
    return _SCALARS.get(annotation)


def _parameter_schema(parameters: type[ApiModel]) -> Schema:
    """Return a workload's parameters with nested ones as `flat_parameters` names them."""
    schema: Schema = {}
    for name, field in parameters.model_fields.items():
        alias = field.alias or name
        nested = field.annotation
        if isinstance(nested, type) and issubclass(nested, ApiModel):
            for inner, kind in _scalar_fields(nested).items():
                schema[alias if inner == "name" else f"{alias}.{inner}"] = kind
        else:
            schema[alias] = _scalar_type(nested) or pl.String
    return {name: kind for name, kind in schema.items() if name not in NOT_COMPARED}


def _row(benchmark: str, run: ReportRun) -> dict[str, Any]:
    row: dict[str, Any] = {
        "benchmark": benchmark,
        "run": run.name,
        "pointHash": run.point_hash,
        "repetition": run.repetition,
        "state": run.state.value,
        "verdict": run.verdict.value,
        "attempts": run.attempt_count,
        **flat_parameters(run.workload, run.gpus),
    }
    if run.failure:
        row["failure.failureClass"] = run.failure.failure_class.value
        row["failure.message"] = run.failure.message
    if run.result:
        row |= dict(_result_values(run.result))
    return row


def _result_values(result: RunResult) -> Iterator[tuple[str, Any]]:
    yield "acceptedAttempt", result.identity.attempt
    if result.validity:
        failed = dict.fromkeys(gate.name.value for gate in result.validity.failed_gates)
        yield "failedGates", ", ".join(failed)
    for prefix, model, read in _PARTS:
        part = read(result)
        content = part.to_json_dict() if part else {}
        for name in _scalar_fields(model):
            yield f"{prefix}.{name}", content.get(name)
    for name, metric, factor in _AGGREGATES:
        value = metric.read(result)
        yield name, None if value is None else value * factor
    yield from _open_values(result)


def _open_values(result: RunResult) -> Iterator[tuple[str, Any]]:
    """Return what has names of its own: versions, hardware, profiler families."""
    provenance = result.provenance
    for part in ("software", "hardware", "dataset", "settings"):
        for name, value in getattr(provenance, part).items():
            yield f"provenance.{part}.{name}", value
    for family, numbers in (result.profile.families if result.profile else {}).items():
        yield f"profile.families.{family.value}.calls", numbers.calls
        yield f"profile.families.{family.value}.totalSeconds", numbers.total_seconds
        yield f"profile.families.{family.value}.share", numbers.share
