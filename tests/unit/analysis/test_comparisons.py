from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.analysis.comparisons import (
    SPEED_UP,
    Comparison,
    comparisons_of,
    find_baseline,
    parallel_efficiencies,
    relative_speeds,
)
from gpubench.analysis.inputs import ReportRun
from gpubench.analysis.study import Point, build_study
from gpubench.api.result import Throughput
from tests.unit.analysis.result_builders import (
    CPU,
    H100,
    H200,
    failed_run,
    image_workload,
    invalid_run,
    llm_workload,
    make_input,
    valid_run,
)

TO_FP64 = Comparison("precision", "FP64")
TO_UNPINNED = Comparison("pinMemory", False)


def points_of(*runs: ReportRun) -> tuple[Point, ...]:
    return build_study(make_input(runs)).points


def the_point(points: Sequence[Point], **parameters: object) -> Point:
    return next(
        point
        for point in points
        if all(point.parameters[name] == value for name, value in parameters.items())
    )


def test_a_baseline_differs_in_the_compared_parameter_only() -> None:
    points = points_of(
        valid_run(image_workload(precision="FP64", batch_size=32), 1),
        valid_run(image_workload(precision="FP64"), 1),
        valid_run(image_workload(precision="FP32"), 1),
    )
    baseline = find_baseline(the_point(points, precision="FP32"), TO_FP64, points)
    assert baseline is not None
    assert baseline.parameters["batchSize"] == 64
    assert baseline.parameters["precision"] == "FP64"


def test_a_baseline_is_not_compared_with_itself() -> None:
    points = points_of(valid_run(image_workload(precision="FP64"), 1))
    assert find_baseline(points[0], TO_FP64, points) is None


def test_no_baseline_on_another_device() -> None:
    points = points_of(
        valid_run(image_workload(precision="FP64"), 1, device=H200),
        valid_run(image_workload(precision="FP64"), 1, repetition=2, device=CPU),
        valid_run(image_workload(precision="FP32"), 1, device=H100),
    )
    assert find_baseline(the_point(points, precision="FP32"), TO_FP64, points) is None


def test_an_invalid_result_is_no_baseline() -> None:
    points = points_of(
        invalid_run(image_workload(precision="FP64"), 1),
        valid_run(image_workload(precision="FP32"), 1),
    )
    assert find_baseline(the_point(points, precision="FP32"), TO_FP64, points) is None


def test_a_failed_run_is_no_baseline() -> None:
    points = points_of(
        failed_run(image_workload(precision="FP64"), 1),
        valid_run(image_workload(precision="FP32"), 1),
    )
    assert find_baseline(the_point(points, precision="FP32"), TO_FP64, points) is None


def test_casting_belongs_to_precision() -> None:
    points = points_of(
        valid_run(image_workload(precision="FP64"), 1),
        valid_run(image_workload(precision="FP16", casting="Autocast"), 1),
    )
    assert find_baseline(the_point(points, precision="FP16"), TO_FP64, points) is not None


def test_equal_learning_rates_are_equal_however_they_are_written() -> None:
    points = points_of(
        valid_run(image_workload(pin_memory=False, learning_rate="0.0003"), 1),
        valid_run(image_workload(pin_memory=True, learning_rate="3e-4"), 1),
    )
    assert find_baseline(the_point(points, pinMemory=True), TO_UNPINNED, points) is not None


PARAMETERS = st.fixed_dictionaries(
    {
        "precision": st.sampled_from(["FP64", "FP32", "FP16"]),
        "pin_memory": st.booleans(),
        "batch_size": st.sampled_from([32, 64]),
    }
)
RUNS = st.lists(
    st.tuples(
        PARAMETERS,
        st.integers(min_value=1, max_value=4),
        st.sampled_from([H100, H200, CPU]),
        st.booleans(),
    ),
    max_size=25,
)


@given(RUNS, st.sampled_from([SPEED_UP, TO_FP64, TO_UNPINNED]))
@settings(deadline=None)
def test_every_baseline_found_is_comparable(
    drawn: list[tuple[dict[str, object], int, object, bool]], comparison: Comparison
) -> None:
    make = {True: valid_run, False: invalid_run}
    runs = [
        make[valid](image_workload(**parameters), gpus, device=device, repetition=number)
        for number, (parameters, gpus, device, valid) in enumerate(drawn, start=1)
    ]
    points = points_of(*runs)
    for point in points:
        baseline = find_baseline(point, comparison, points)
        if baseline is None:
            continue
        assert baseline.device == point.device
        assert baseline.results
        different = {
            name for name in point.parameters if point.parameters[name] != baseline.parameters[name]
        }
        assert different == {comparison.parameter}


def test_speed_up_is_one_for_one_gpu_and_missing_without_it() -> None:
    one, two = (valid_run(image_workload(), gpus, seconds=100 / gpus) for gpus in (1, 2))
    points = points_of(one, two)
    assert [
        estimate.mean for estimate in map(relative_speeds(points, SPEED_UP), points) if estimate
    ] == [1, 2]
    alone = points_of(two)
    assert relative_speeds(alone, SPEED_UP)(alone[0]) is None


def test_parallel_efficiency_of_perfect_scaling_is_one() -> None:
    points = points_of(
        *(valid_run(image_workload(), gpus, seconds=120 / gpus) for gpus in (1, 2, 3, 4))
    )
    efficiency = parallel_efficiencies(points)
    assert [estimate.mean for estimate in map(efficiency, points) if estimate] == pytest.approx(
        [1.0] * 4
    )


def test_without_fp64_precisions_are_compared_with_fp32() -> None:
    points = points_of(
        valid_run(image_workload(precision="FP32"), 1),
        valid_run(image_workload(precision="FP16"), 1),
    )
    assert comparisons_of(points, ["precision"]) == (Comparison("precision", "FP32"),)


def test_other_work_is_no_slower_way_to_do_the_same() -> None:
    points = points_of(
        valid_run(image_workload(image_size=100), 1), valid_run(image_workload(image_size=500), 1)
    )
    assert comparisons_of(points, ["imageSize"]) == ()


def test_runs_cut_after_some_steps_are_compared_by_rate() -> None:
    def run(gpus: int, rate: float) -> ReportRun:
        throughput = Throughput(samples_per_second=rate, dataset_samples_per_second=rate)
        return valid_run(llm_workload(max_steps=10), gpus, seconds=20.0, throughput=throughput)

    points = points_of(run(1, 4.0), run(2, 7.0))
    speed = relative_speeds(points, SPEED_UP)(points[1])
    assert speed is not None
    assert speed.mean == pytest.approx(1.75)
