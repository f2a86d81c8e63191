from __future__ import annotations

import io

import polars as pl
import pytest

from gpubench.analysis.frame import run_frame, to_csv, to_parquet
from tests.unit.analysis.result_builders import (
    failed_run,
    image_workload,
    invalid_run,
    make_input,
    make_result,
    make_run,
    missing_run,
    valid_run,
    with_everything,
)

WORKLOAD = image_workload()

# The head of the table; what follows is derived from the result's own model.
FIRST_COLUMNS = [
    "benchmark",
    "run",
    "pointHash",
    "repetition",
    "state",
    "verdict",
    "attempts",
    "acceptedAttempt",
    "failedGates",
    "failure.failureClass",
    "failure.message",
    "gpus",
    "model",
    "dataset",
    "dataset.path",
    "dataset.trainImages",
    "dataset.testImages",
    "imageSize",
]


def one_of_each() -> pl.DataFrame:
    return run_frame(
        make_input(
            [
                valid_run(WORKLOAD, 1, seconds=123.5),
                invalid_run(WORKLOAD, 2, seconds=60.0),
                failed_run(WORKLOAD, 3, message="no memory left"),
                missing_run(WORKLOAD, 4),
            ]
        )
    )


def test_there_is_one_row_for_each_run() -> None:
    frame = one_of_each()
    assert frame["verdict"].to_list() == ["valid", "invalid", "failed", "missing"]
    assert frame["gpus"].to_list() == [1, 2, 3, 4]
    assert frame["timing.trainingSeconds"].to_list() == [123.5, 60.0, None, None]
    assert frame["failedGates"].to_list() == ["", "Clocks", None, None]
    assert frame["failure.message"].to_list() == [None, None, "no memory left", None]


def test_columns_begin_with_what_identifies_a_run() -> None:
    assert one_of_each().columns[: len(FIRST_COLUMNS)] == FIRST_COLUMNS


def test_columns_and_types_do_not_depend_on_the_runs() -> None:
    full, empty = one_of_each(), run_frame(make_input([]))
    assert empty.height == 0
    for name, kind in empty.schema.items():
        assert full.schema[name] == kind
    assert empty.schema["imageSize"] == pl.Int64
    assert empty.schema["pinMemory"] == pl.Boolean
    assert empty.schema["precision"] == pl.String
    assert empty.schema["timing.iteration.mean"] == pl.Float64


def test_a_column_has_the_path_that_its_value_has_in_the_result() -> None:
    result = with_everything(make_result(WORKLOAD, 2))
    row = run_frame(make_input([make_run(WORKLOAD, 2, result)])).row(0, named=True)
    document = result.to_json_dict()
    for name in (
        "timing.trainingSeconds",
        "timing.iteration.p95",
        "timing.phases.dataSeconds",
        "throughput.samplesPerSecond",
        "quality.accuracy",
        "device.name",
        "efficiency.mfu",
        "profile.overhead",
        "profile.families.cudaLaunchKernel.share",
        "provenance.node",
        "provenance.software.torch",
    ):
        value = document
        for step in name.split("."):
            value = value[step]
        assert row[name] == value, name


def test_sums_over_gpus_are_in_base_units() -> None:
    result = with_everything(make_result(WORKLOAD, 2))
    row = run_frame(make_input([make_run(WORKLOAD, 2, result)])).row(0, named=True)
    assert row["memory.maxAllocatedBytes"] == 21 * 2**30
    assert row["telemetry.totalEnergyJoules"] == pytest.approx(2.4e6)
    assert row["telemetry.totalPowerWatts"] == 800.0
    assert row["telemetry.meanUtilization"] == pytest.approx(0.9)


def test_parquet_comes_back_as_it_was() -> None:
    frame = one_of_each()
    assert pl.read_parquet(io.BytesIO(to_parquet(frame))).equals(frame)


def test_csv_comes_back_with_its_texts_and_numbers() -> None:
    frame = one_of_each()
    again = pl.read_csv(io.StringIO(to_csv(frame)), schema=frame.schema)
    for name in ("run", "verdict", "gpus", "timing.trainingSeconds", "pinMemory"):
        assert again[name].to_list() == frame[name].to_list()


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_spreadsheet_runs_nothing(start: str) -> None:
    message = f'{start}HYPERLINK("http://evil")'
    frame = run_frame(make_input([failed_run(WORKLOAD, 1, message=message)]))
    (written,) = pl.read_csv(io.StringIO(to_csv(frame)))["failure.message"].to_list()
    assert written == f"'{message}"
    assert frame["failure.message"].to_list() == [message]
