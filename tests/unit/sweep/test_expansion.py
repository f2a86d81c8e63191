from __future__ import annotations

import time
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.api.enums import DatasetName, Precision
from gpubench.sweep.plan import Plan
from tests.unit.sweep.sweeps import AXES, LLM, benchmark, complaints, plan

IMAGE_PARAMETERS = (
    "gpus, model, dataset, imageSize, epochs, batchSize, strategy, precision, casting, pinMemory, "
    "workers, seed, learningRate, optimizer, memoryFormat, compile, inputPipeline, evaluation, "
    "warmupSteps"
)


def described(a_plan: Plan) -> list[str]:
    return [point.describe() for point in a_plan.points]


def test_without_a_sweep_there_is_one_point_as_it_stands() -> None:
    (point,) = plan(spec={"gpus": 3}).points
    assert point.describe() == "the workload as it stands"
    assert point.gpus == 3
    assert point.workload == benchmark().spec.workload


def test_the_last_axis_is_the_fastest_in_the_order_of_the_reference() -> None:
    matrix = {"pinMemory": [False, True], "precision": ["FP32", "FP64"], "gpus": [2, 1]}
    assert described(plan(matrix=matrix)) == [
        "gpus=2, precision=FP32, pinMemory=false",
        "gpus=2, precision=FP32, pinMemory=true",
        "gpus=2, precision=FP64, pinMemory=false",
        "gpus=2, precision=FP64, pinMemory=true",
        "gpus=1, precision=FP32, pinMemory=false",
        "gpus=1, precision=FP32, pinMemory=true",
        "gpus=1, precision=FP64, pinMemory=false",
        "gpus=1, precision=FP64, pinMemory=true",
    ]


def test_a_point_carries_its_values_and_the_rest_of_the_workload() -> None:
    workload = {"imageRecognition": {"imageSize": 64, "epochs": 3}}
    (point,) = plan(workload, matrix={"gpus": [2], "precision": ["FP16"]}).points
    parameters = point.workload.image_recognition
    assert parameters is not None
    assert (parameters.image_size, parameters.epochs) == (64, 3)
    assert parameters.precision is Precision.FP16
    assert point.gpus == 2
    assert point.parameters == {"gpus": 2, "precision": "FP16"}


def test_a_dataset_axis_sets_the_name_only() -> None:
    workload = {"imageRecognition": {"dataset": {"trainImages": 9, "path": "data"}}}
    points = plan(workload, matrix={"dataset": ["digits", "mnist"]}).points
    datasets = [point.workload.parameters.dataset for point in points]
    assert [dataset.name for dataset in datasets] == [DatasetName.DIGITS, DatasetName.MNIST]
    assert all(dataset.path == "data" for dataset in datasets)
    assert points[0].parameters == {"dataset": "digits"}


def test_the_other_workload_is_swept_the_same_way() -> None:
    points = plan(LLM, matrix={"dataset": ["samsum", "grammar"], "loraRank": [4, 8]}).points
    assert [dict(point.parameters) for point in points] == [
        {"dataset": "samsum", "loraRank": 4},
        {"dataset": "samsum", "loraRank": 8},
        {"dataset": "grammar", "loraRank": 4},
        {"dataset": "grammar", "loraRank": 8},
    ]


def test_excluded_points_are_left_out() -> None:
    points = described(
        plan(
            matrix={"gpus": [1, 2], "precision": ["FP32", "FP64"]},
            exclude=[{"gpus": 2, "precision": "FP64"}, {"gpus": 1, "precision": "FP32"}],
        )
    )
    assert points == ["gpus=1, precision=FP64", "gpus=2, precision=FP32"]


def test_an_exclusion_may_name_parameters_that_are_not_swept() -> None:
    matrix = {"gpus": [1, 2]}
    assert described(plan(matrix=matrix, exclude=[{"gpus": 2, "imageSize": 224}])) == ["gpus=1"]
    assert complaints(matrix=matrix, exclude=[{"gpus": 2, "imageSize": 32}]) == [
        "spec.sweep.exclude[0]: matches no point of the matrix: gpus=2, imageSize=32"
    ]


def test_an_exclusion_means_numbers_not_their_text() -> None:
    points = plan(
        matrix={"learningRate": ["0.0003", "0.001"]}, exclude=[{"learningRate": "3e-4"}]
    ).points
    assert [point.describe() for point in points] == ["learningRate=0.001"]


def test_included_points_differ_from_the_workload_not_from_the_matrix() -> None:
    points = plan(
        {"imageRecognition": {"imageSize": 64}},
        matrix={"gpus": [1, 2]},
        include=[{"precision": "FP64"}, {"gpus": 4, "imageSize": 32}],
        spec={"gpus": 3},
    ).points
    assert [point.describe() for point in points] == [
        "gpus=1, imageSize=64, precision=FP32",
        "gpus=2, imageSize=64, precision=FP32",
        "gpus=3, imageSize=64, precision=FP64",
        "gpus=4, imageSize=32, precision=FP32",
    ]


def test_everything_may_be_excluded_where_something_is_included() -> None:
    points = plan(matrix={"gpus": [1]}, exclude=[{"gpus": 1}], include=[{"gpus": 2}]).points
    assert [point.gpus for point in points] == [2]


@pytest.mark.parametrize(
    ("sweep", "lines"),
    [
        (
            {"matrix": {"loraRank": [8]}},
            [
                "spec.sweep.matrix.loraRank: not a parameter of imageRecognition; "
                f"allowed: {IMAGE_PARAMETERS}"
            ],
        ),
        (
            {"include": [{}, {"packed": True}], "exclude": [{"method": "QAT"}]},
            [
                "spec.sweep.include[1].packed: not a parameter of imageRecognition; "
                f"allowed: {IMAGE_PARAMETERS}",
                "spec.sweep.exclude[0].method: not a parameter of imageRecognition; "
                f"allowed: {IMAGE_PARAMETERS}",
            ],
        ),
        (
            {"matrix": {"gpus": [1]}, "exclude": [{}]},
            ["spec.sweep.exclude[0]: names no parameter: it would leave out all"],
        ),
        (
            {"matrix": {"gpus": [1, 2]}, "exclude": [{"gpus": 1}, {"gpus": 3}]},
            ["spec.sweep.exclude[1]: matches no point of the matrix: gpus=3"],
        ),
        (
            {"matrix": {"gpus": [1, 2]}, "exclude": [{"gpus": 1}, {"gpus": 2}]},
            ["spec.sweep.exclude: leaves out every point of the matrix"],
        ),
        (
            {"matrix": {"precision": ["FP32", "FP16"], "casting": ["Pure"]}},
            [
                "spec.sweep.matrix: precision=FP32, casting=Pure: casting: Pure has no meaning "
                "with precision FP32; it is for BF16 and FP16, leave it out (Auto) otherwise"
            ],
        ),
        (
            {"matrix": {"dataset": ["mnist", "samsum"]}},
            [
                'spec.sweep.matrix: dataset=samsum: dataset.name: "samsum" is not allowed; '
                "allowed: digits, mnist, idx, image-folder"
            ],
        ),
        (
            {"include": [{"casting": "Autocast", "gpus": 2}]},
            [
                "spec.sweep.include[0]: gpus=2, casting=Autocast: casting: Autocast has no "
                "meaning with precision FP32; it is for BF16 and FP16, leave it out (Auto) "
                "otherwise"
            ],
        ),
        (
            {"matrix": {"gpus": [1, 2]}, "include": [{"gpus": 2, "precision": "FP32"}]},
            [
                "spec.sweep.include[0]: gpus=2, precision=FP32: "
                "the same point as gpus=2, precision=FP32 of spec.sweep.matrix"
            ],
        ),
        (
            {"matrix": {"learningRate": ["3e-4", "0.00030"]}},
            [
                "spec.sweep.matrix: learningRate=0.00030: "
                "the same point as learningRate=3e-4 of spec.sweep.matrix"
            ],
        ),
    ],
)
def test_a_sweep_that_cannot_be_run_is_refused(sweep: dict[str, Any], lines: list[str]) -> None:
    assert complaints(**sweep) == lines


def test_a_value_that_only_the_other_workload_allows_is_refused() -> None:
    assert complaints(LLM, matrix={"epochs": [1, 5000]}) == [
        "spec.sweep.matrix: epochs=5000: epochs: 5000 is not allowed; allowed: 1 to 1000"
    ]


def test_many_problems_are_summed_up() -> None:
    lines = complaints(matrix={"casting": ["Pure"], "precision": ["FP32"], "seed": list(range(30))})
    assert len(lines) == 11
    assert lines[-1] == "spec.sweep: and 20 further problems like these"


def test_too_many_points_are_counted_and_refused_before_they_are_made() -> None:
    axis = list(range(8, 72))
    huge = dict.fromkeys(("imageSize", "epochs", "batchSize", "workers", "seed"), axis)
    start = time.perf_counter()
    lines = complaints(matrix=huge, exclude=[{"seed": 9}])
    # Five axes take 0.1 ms; the bound is for a busy machine, expansion would take a day.
    assert time.perf_counter() - start < 1
    assert lines == [
        "spec.sweep.matrix: 1,073,741,824 points (before exclude); allowed: at most 10,000"
    ]


def test_the_limit_of_points_is_exact() -> None:
    matrix = {"seed": list(range(50)), "epochs": list(range(1, 51)), "gpus": [1, 2, 3, 4]}
    assert len(plan(matrix=matrix).points) == 10_000
    assert complaints(matrix=matrix, include=[{"gpus": 5}]) == [
        "spec.sweep.matrix: 10,001 points (before exclude); allowed: at most 10,000"
    ]


def test_too_many_runs_are_refused() -> None:
    matrix = {"seed": list(range(50)), "epochs": list(range(1, 41))}
    assert len(plan(matrix=matrix, repetitions=50).runs) == 100_000
    assert complaints(matrix=matrix, repetitions=51) == [
        "spec.sweep.repetitions: 2,000 points x 51 repetitions are 102,000 runs; "
        "allowed: at most 100,000"
    ]


@given(AXES)
def test_a_matrix_has_as_many_points_as_its_axes_multiply_to(matrix: dict[str, Any]) -> None:
    points = plan(matrix=matrix).points
    assert len(points) == prod(len(axis) for axis in matrix.values())
    assert len({point.point_hash for point in points}) == len(points)
    assert len({tuple(point.parameters.values()) for point in points}) == len(points)


@given(AXES, st.data())
def test_what_is_excluded_is_what_has_all_values_of_an_entry(
    matrix: dict[str, Any], data: st.DataObject
) -> None:
    whole = plan(matrix=matrix).points
    entry = data.draw(
        st.fixed_dictionaries({}, optional={n: st.sampled_from(v) for n, v in matrix.items()})
    )
    kept = [p for p in whole if not entry.items() <= dict(p.parameters).items()]
    if not entry or not kept:
        complaints(matrix=matrix, exclude=[entry])
        return
    points = plan(matrix=matrix, exclude=[entry]).points
    assert points == tuple(kept)


@given(AXES)
def test_points_keep_their_hashes_when_the_sweep_grows(matrix: dict[str, Any]) -> None:
    seeds = {"seed": [0, 1]}
    small = {point.point_hash for point in plan(matrix=matrix | {"seed": [0]}).points}
    assert small < {point.point_hash for point in plan(matrix=matrix | seeds).points}
    # The default seed is 0: an axis that only says so changes nothing.
    assert small == {point.point_hash for point in plan(matrix=matrix).points}
