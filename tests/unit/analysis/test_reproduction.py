from __future__ import annotations

import pytest
import yaml

from gpubench.analysis import build_report
from gpubench.analysis.report import Listing, Report
from gpubench.analysis.sections.reproduction import point_manifest
from gpubench.analysis.study import build_study
from gpubench.api.benchmark import GPUBenchmark, Workload
from gpubench.sweep.expansion import expand
from tests.unit.analysis.result_builders import (
    image_workload,
    llm_workload,
    make_input,
    missing_run,
    valid_run,
)


def listings(report: Report) -> list[Listing]:
    return [
        block for part in report.sections for block in part.blocks if isinstance(block, Listing)
    ]


@pytest.mark.parametrize(
    ("workload", "gpus"),
    [
        (image_workload(), 1),
        (image_workload(precision="FP16", learning_rate="3e-4", pin_memory=True), 4),
        (image_workload(image_size=224), 2),
        (image_workload(dataset={"name": "image-folder", "path": "a: {b}\n'c'"}), 3),
        (llm_workload(), 1),
        (llm_workload(precision="FP32", max_steps=200), 8),
    ],
    ids=str,
)
def test_a_points_file_runs_exactly_that_point(workload: Workload, gpus: int) -> None:
    study = build_study(make_input([missing_run(workload, gpus)], sweep={"repetitions": 3}))
    manifest = GPUBenchmark.model_validate(yaml.safe_load(point_manifest(study, study.points[0])))
    plan = expand(manifest)
    (point,) = plan.points
    assert (point.workload, point.gpus) == (workload, gpus)
    assert len(plan.runs) == 3


def test_a_points_file_leaves_defaults_out() -> None:
    study = build_study(make_input([valid_run(image_workload(image_size=224), 1)]))
    content = yaml.safe_load(point_manifest(study, study.points[0]))
    assert content["spec"] == {"workload": {"imageRecognition": {}}, "gpus": 1}


def test_a_points_file_keeps_what_makes_results_comparable() -> None:
    nsys = {"nsys": {"mode": "Window", "steps": 20}}
    acceptance = {"acceptance": [{"metric": "accuracy", "atLeast": "0.98"}]}
    study = build_study(
        make_input([valid_run(image_workload(), 1)], profiling=nsys, results=acceptance)
    )
    content = yaml.safe_load(point_manifest(study, study.points[0]))
    assert content["spec"]["profiling"] == nsys
    assert content["spec"]["results"] == acceptance


def test_the_whole_benchmark_comes_back_as_it_was() -> None:
    report_input = make_input(
        [], sweep={"matrix": {"gpus": [1, 2], "precision": ["FP64"]}, "repetitions": 2}
    )
    text = listings(build_report(report_input))[0].text
    again = GPUBenchmark.model_validate(yaml.safe_load(text))
    assert again.spec == report_input.benchmark.spec


def test_there_is_one_file_for_each_point() -> None:
    runs = [
        valid_run(image_workload(), gpus, repetition=number)
        for gpus in (1, 2)
        for number in (1, 2, 3)
    ]
    titles = [listing.title for listing in listings(build_report(make_input(runs)))]
    assert titles == ["The whole benchmark", "1 GPU", "2 GPUs"]


def test_a_long_name_leaves_room_for_the_hash() -> None:
    study = build_study(make_input([valid_run(image_workload(), 1)], name="a" * 253))
    content = yaml.safe_load(point_manifest(study, study.points[0]))
    assert len(content["metadata"]["name"]) == 253
    GPUBenchmark.model_validate(content)
