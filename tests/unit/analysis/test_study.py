from __future__ import annotations

import pytest

from gpubench.analysis import Verdict, build_report
from gpubench.analysis.metrics import TOTAL_TIME
from gpubench.analysis.study import build_study
from gpubench.api.enums import Outcome, RunPhase
from tests.unit.analysis.reading import table, texts
from tests.unit.analysis.result_builders import (
    CPU,
    H100,
    H200,
    failed_run,
    image_workload,
    invalid_run,
    llm_workload,
    make_failure,
    make_input,
    make_result,
    make_run,
    missing_run,
    valid_run,
)


def test_repetitions_of_a_point_are_averaged() -> None:
    workload = image_workload()
    study = build_study(
        make_input(
            valid_run(workload, 1, repetition=number, seconds=seconds)
            for number, seconds in ((1, 100.0), (2, 104.0), (3, 96.0))
        )
    )
    (point,) = study.points
    estimate = point.estimate(TOTAL_TIME)
    assert estimate is not None
    assert (estimate.n, estimate.mean, estimate.std) == (3, 100.0, 4.0)


@pytest.mark.parametrize(
    "other",
    [
        invalid_run(image_workload(), 1, repetition=2, seconds=1.0),
        failed_run(image_workload(), 1, repetition=2),
        missing_run(image_workload(), 1, repetition=2),
    ],
    ids=["invalid", "failed", "missing"],
)
def test_only_valid_results_are_averaged(other: object) -> None:
    study = build_study(make_input([valid_run(image_workload(), 1, seconds=100.0), other]))  # type: ignore[list-item]
    (point,) = study.points
    estimate = point.estimate(TOTAL_TIME)
    assert estimate is not None
    assert (estimate.n, estimate.mean) == (1, 100.0)


def test_devices_are_never_averaged() -> None:
    study = build_study(
        make_input(
            valid_run(image_workload(), 1, repetition=number, device=device)
            for number, device in enumerate((CPU, H100, H200), start=1)
        )
    )
    assert len(study.points) == 3
    assert [device.is_cpu for device in study.devices] == [False, False, True]


def test_a_run_without_a_result_belongs_to_the_only_device() -> None:
    runs = [
        valid_run(image_workload(), 1, device=CPU),
        missing_run(image_workload(), 1, repetition=2),
    ]
    (point,) = build_study(make_input(runs)).points
    assert len(point.runs) == 2


def test_among_several_devices_a_run_without_a_result_has_none() -> None:
    runs = [
        valid_run(image_workload(), 1, device=CPU),
        valid_run(image_workload(), 1, repetition=2, device=H100),
        missing_run(image_workload(), 1, repetition=3),
    ]
    points = build_study(make_input(runs)).points
    assert [len(point.runs) for point in points] == [1, 1, 1]
    assert sum(point.device is None for point in points) == 1


def test_what_varies_becomes_a_column_and_what_does_not_is_said_once() -> None:
    runs = [valid_run(image_workload(workers=workers, seed=3), 1) for workers in (0, 4)]
    report = build_report(make_input(runs))
    assert texts(table(report, "time"), "workers") == ["0", "4"]
    assert ("Seed", "3") in report.facts
    assert "Workers" not in dict(report.facts)


def test_columns_follow_the_sweep_with_gpus_first() -> None:
    swept: dict[str, object] = {"pinMemory": True, "precision": "FP16", "gpus": 2}
    workloads = [
        image_workload(precision=precision, pin_memory=pinned)
        for precision in ("FP32", "FP16")
        for pinned in (False, True)
    ]
    runs = [
        make_run(workload, gpus, make_result(workload, gpus), parameters=swept)
        for workload in workloads
        for gpus in (1, 2)
    ]
    assert build_study(make_input(runs)).axes == ("gpus", "pinMemory", "precision")


def test_rows_are_ordered_as_the_spec_orders_values() -> None:
    runs = [
        valid_run(image_workload(precision=precision, batch_size=batch), 1)
        for precision in ("FP16", "FP64", "TF32", "FP32")
        for batch in (100, 20)
    ]
    time = table(build_report(make_input(runs)), "time")
    assert texts(time, "batchSize") == ["20"] * 4 + ["100"] * 4
    assert texts(time, "precision")[:4] == ["FP64", "FP32", "TF32", "FP16"]


def test_on_a_processor_the_column_says_ranks() -> None:
    runs = [valid_run(image_workload(), gpus, device=CPU) for gpus in (1, 2)]
    time = table(build_report(make_input(runs)), "time")
    headings = [column.heading for column in time.columns]
    assert "CPU ranks" in headings
    assert "Compared to 1 CPU rank [%]" in headings
    assert "GPUs" not in headings


def test_llm_tuning_has_tokens_and_loss_instead_of_accuracy() -> None:
    from gpubench.api.result import Quality, Throughput

    workload = llm_workload()
    result = make_result(
        workload,
        1,
        quality=Quality(final_loss=1.5),
        throughput=Throughput(
            samples_per_second=2.0, dataset_samples_per_second=2.0, tokens_per_second=500.0
        ),
    )
    report = build_report(make_input([make_run(workload, 1, result)]))
    assert texts(table(report, "time"), "finalLoss") == ["1.50"]
    assert texts(table(report, "speed"), "tokenRate") == ["500"]


@pytest.mark.parametrize(
    ("run", "verdict"),
    [
        (valid_run(image_workload(), 1), Verdict.VALID),
        (invalid_run(image_workload(), 1), Verdict.INVALID),
        (failed_run(image_workload(), 1), Verdict.FAILED),
        (missing_run(image_workload(), 1), Verdict.MISSING),
    ],
)
def test_each_run_has_one_verdict(run: object, verdict: Verdict) -> None:
    assert run.verdict is verdict  # type: ignore[attr-defined]


def test_a_run_between_attempts_is_missing_and_tells_why() -> None:
    run = make_run(image_workload(), 1, make_failure(image_workload(), 1), state=RunPhase.RETRYING)
    assert run.verdict is Verdict.MISSING
    assert run.failure is not None


def test_a_result_without_a_judgement_is_not_valid() -> None:
    run = make_run(image_workload(), 1, make_result(image_workload(), 1, validity=None))
    assert run.verdict is Verdict.INVALID


def test_an_accepted_attempt_that_failed_stands_for_nothing() -> None:
    import dataclasses

    failed = make_failure(image_workload(), 1)
    run = dataclasses.replace(
        make_run(image_workload(), 1, failed, state=RunPhase.FAILED), accepted=failed
    )
    assert failed.outcome is Outcome.FAILED
    assert run.result is None
    assert run.verdict is Verdict.FAILED
