"""The table of a rank's steps, from which the supervisor makes the result's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import polars as pl
from polars._typing import PolarsDataType

from gpubench_workloads.reporting.rank_report import rank_steps_path
from gpubench_workloads.training.step_clock import StepRecord

STEP_COLUMNS: dict[str, PolarsDataType] = {
    "epoch": pl.Int32,
    "step": pl.Int32,
    "regular": pl.Boolean,
    "profiled": pl.Boolean,
    "steady": pl.Boolean,
    "iteration_seconds": pl.Float64,
    "data_seconds": pl.Float64,
    "host_to_device_seconds": pl.Float64,
    "compute_seconds": pl.Float64,
    "optimizer_seconds": pl.Float64,
    "samples": pl.Int32,
}


def write_step_table(
    attempt_folder: Path,
    rank: int,
    records: Sequence[StepRecord],
    more: Mapping[str, tuple[PolarsDataType, Sequence[object]]] | None = None,
) -> None:
    """Write the table as `rank_steps_path` describes it.

    `more` are the workload's own columns by name: the type, and a value for each record.
    """
    more = more or {}
    columns: dict[str, Sequence[object]] = {
        column.name: [getattr(record, column.name) for record in records]
        for column in fields(StepRecord)
    }
    columns |= {name: values for name, (_, values) in more.items()}
    schema = STEP_COLUMNS | {name: type_ for name, (type_, _) in more.items()}
    table = pl.DataFrame(columns, schema=schema)
    path = rank_steps_path(attempt_folder, rank)
    path.parent.mkdir(parents=True, exist_ok=True)
    table.insert_column(0, pl.Series("rank", [rank] * len(table), pl.Int32)).write_parquet(path)
