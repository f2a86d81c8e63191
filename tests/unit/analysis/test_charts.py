from __future__ import annotations

from typing import Any

import pytest
import vl_convert

from gpubench.analysis import build_report
from gpubench.analysis.charts.bars import MOST_BARS
from gpubench.analysis.charts.panels import MOST_PANELS
from gpubench.analysis.drawing import draw, vega_lite_version
from gpubench.analysis.inputs import ReportRun
from gpubench.analysis.report import Chart, ChartKind, Note
from tests.unit.analysis.result_builders import (
    CPU,
    H100,
    image_workload,
    invalid_run,
    llm_workload,
    make_input,
    make_result,
    make_run,
    valid_run,
    with_everything,
)

STRATEGIES = ("DDP", "DDP-RR", "DDP-DS")
SIZES = (100, 300, 500)


def charts_of(runs: list[ReportRun]) -> dict[str, Chart]:
    return {chart.key: chart for chart in build_report(make_input(runs)).charts()}


def compiled(chart: Chart) -> dict[str, Any]:
    """The chart as Vega: it compiles, and what is in it can be looked at."""
    vega: dict[str, Any] = vl_convert.vegalite_to_vega(
        draw(chart) | {"width": 400}, vl_version=vega_lite_version()
    )
    return vega


def scaling_runs() -> list[ReportRun]:
    return [
        valid_run(image_workload(strategy=strategy), gpus, seconds=100 / gpus, repetition=number)
        for strategy in STRATEGIES
        for gpus in (1, 2, 3, 4)
        for number in (1, 2)
    ]


def test_fig_1_has_one_line_per_strategy() -> None:
    chart = charts_of(scaling_runs())["scaling-time-1"]
    assert chart.kind is ChartKind.LINES
    assert chart.series == "Strategy"
    assert {mark.series for mark in chart.marks} == set(STRATEGIES)
    assert sorted({mark.category for mark in chart.marks}) == [1, 2, 3, 4]
    assert chart.value.heading == "Total time [s]"


def test_fig_4_has_one_line_per_dataset() -> None:
    datasets = ("alpaca-cleaned", "samsum")
    runs = [
        valid_run(llm_workload(dataset={"name": name}), gpus, seconds=100.0)
        for name in datasets
        for gpus in (1, 2)
    ]
    report = build_report(make_input(runs, workload={"llmTuning": {}}))
    [chart] = [chart for chart in report.charts() if chart.key == "scaling-iteration-1"]
    assert {mark.series for mark in chart.marks} == set(datasets)
    assert chart.value.heading == "Iteration [ms]"
    assert "Fig. 4" in chart.caption


def test_speed_up_has_perfect_scaling_to_hold_against() -> None:
    chart = charts_of(scaling_runs())["scaling-speedup-1"]
    assert chart.ideal == ((1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0))
    two = next(mark for mark in chart.marks if mark.category == 2)
    assert two.value == pytest.approx(2.0)


def test_colour_dash_and_shape_share_one_legend() -> None:
    (legend,) = compiled(charts_of(scaling_runs())["scaling-time-1"])["legends"]
    assert {"stroke", "fill", "shape", "strokeDash"} <= legend.keys()


def test_fig_2_has_time_and_efficiency_over_the_image_size() -> None:
    charts = charts_of(
        [
            valid_run(image_workload(image_size=size), gpus, seconds=size / gpus)
            for size in SIZES
            for gpus in (1, 4)
        ]
    )
    time, efficiency = charts["size-time-1"], charts["size-efficiency-1"]
    assert time.category.heading == "Image size [px]"
    assert time.series == efficiency.series == "GPUs"
    four = [mark.value for mark in efficiency.marks if mark.series == "4"]
    assert four == pytest.approx([400.0] * len(SIZES))


def test_fig_3_adds_up_to_100_percent() -> None:
    workload = image_workload()
    runs = [
        make_run(workload, gpus, with_everything(make_result(workload, gpus))) for gpus in (2, 4)
    ]
    chart = charts_of(runs)["families"]
    assert chart.kind is ChartKind.STACKED_BARS
    for category in {mark.category for mark in chart.marks}:
        shares = [mark.value for mark in chart.marks if mark.category == category]
        assert sum(shares) == pytest.approx(100.0)


def test_figs_5_and_6_are_in_seconds_of_all_ranks() -> None:
    workload = image_workload()
    result = with_everything(make_result(workload, 2))
    chart = charts_of([make_run(workload, 2, result)])["family-seconds"]
    assert chart.value.heading == "Time in the window, sum over ranks [s]"
    assert result.profile is not None
    families = result.profile.families
    assert {mark.series: mark.value for mark in chart.marks} == pytest.approx(
        {family.value: families[family].total_seconds for family in families}
    )


def test_without_a_profile_a_sentence_says_so() -> None:
    report = build_report(make_input([valid_run(image_workload(), 1)]))
    notes = [block for part in report.sections for block in part.blocks if isinstance(block, Note)]
    assert any("No run was profiled" in note.text for note in notes)
    assert not any(section.key == "profiles" for section in report.sections)


def test_phases_are_stacked_in_their_order() -> None:
    chart = charts_of([valid_run(image_workload(), 1)])["phases"]
    names = [mark.series for mark in chart.marks]
    assert names == ["Data", "Host to device", "Compute", "Optimizer"]


def test_what_has_no_data_is_not_drawn() -> None:
    workload = image_workload()
    result = make_result(workload, 1, timing=None, throughput=None)
    assert charts_of([make_run(workload, 1, result)]) == {}


def test_invalid_results_are_in_no_chart() -> None:
    runs = [
        valid_run(image_workload(), 1),
        valid_run(image_workload(), 2),
        invalid_run(image_workload(), 4),
    ]
    categories = {mark.category for mark in charts_of(runs)["scaling-time-1"].marks}
    assert categories == {1, 2}


def test_devices_have_charts_of_their_own() -> None:
    charts = charts_of(
        [
            valid_run(image_workload(), gpus, repetition=number, device=device)
            for number, device in ((1, H100), (2, CPU))
            for gpus in (1, 2)
        ]
    )
    assert CPU.name in charts["scaling-time-1-device2"].title
    assert "CPU ranks" in charts["scaling-time-1-device2"].title


def test_error_bars_need_repetitions() -> None:
    once = charts_of([valid_run(image_workload(), gpus) for gpus in (1, 2)])["throughput"]
    assert all(mark.spread is None for mark in once.marks)
    twice = charts_of(
        [
            valid_run(image_workload(), gpus, repetition=number, seconds=100 + number)
            for gpus in (1, 2)
            for number in (1, 2)
        ]
    )["throughput"]
    assert all(mark.spread for mark in twice.marks)
    assert any("low" in row for row in draw(twice)["datasets"].popitem()[1])


def test_a_large_sweep_draws_what_can_be_read_and_says_what_is_missing() -> None:
    runs = [
        valid_run(image_workload(batch_size=batch, workers=workers, precision=precision), gpus)
        for batch in (16, 32, 64)
        for workers in (0, 2, 4)
        for precision in ("FP64", "FP32")
        for gpus in (1, 2)
    ]
    charts = charts_of(runs)
    panels = [chart for key, chart in charts.items() if key.startswith("scaling-time")]
    assert len(panels) == MOST_PANELS
    assert f"{MOST_PANELS} of 9 combinations are drawn" in panels[0].caption
    assert len(charts["throughput"].marks) == MOST_BARS
    assert f"{MOST_BARS} of 36 points are drawn" in charts["throughput"].caption


def everything() -> list[ReportRun]:
    return [
        make_run(workload, gpus, with_everything(make_result(workload, gpus)))
        for strategy in STRATEGIES
        for size in SIZES
        for workload in [image_workload(strategy=strategy, image_size=size)]
        for gpus in (1, 2, 4)
    ]


@pytest.mark.parametrize("chart", charts_of(everything()).values(), ids=lambda chart: chart.key)
def test_every_chart_compiles_and_has_a_mark_for_each_value(chart: Chart) -> None:
    specification = draw(chart)
    assert "$schema" not in specification
    rows = max(specification["datasets"].values(), key=len)
    assert len(rows) == len(chart.marks)
    svg = vl_convert.vegalite_to_svg(specification | {"width": 400}, vl_version=vega_lite_version())
    assert svg.count("<path") >= len(chart.marks)


@pytest.mark.parametrize("name", ["\N{LINE SEPARATOR}", "\\", "'", '"', "</script>", "a.b[c]"])
def test_a_hostile_name_does_not_break_a_chart(name: str) -> None:
    runs = [
        valid_run(image_workload(dataset={"name": "idx", "path": f"{name}{letter}"}), gpus)
        for letter in "ab"
        for gpus in (1, 2)
    ]
    for chart in charts_of(runs).values():
        vl_convert.vegalite_to_svg(draw(chart) | {"width": 400}, vl_version=vega_lite_version())
