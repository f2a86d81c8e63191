"""Curves over GPUs and over image sizes: the paper's Figs. 1 and 2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gpubench.analysis.charts.panels import (
    MOST_PANELS,
    Panel,
    colour_axis,
    left_out_note,
    split_into_panels,
)
from gpubench.analysis.columns import unit_text
from gpubench.analysis.comparisons import SPEED_UP, relative_speeds, speed_basis
from gpubench.analysis.metrics import ITERATION, Metric, Unit
from gpubench.analysis.numerals import format_number
from gpubench.analysis.parameters import (
    DATASET,
    GPUS,
    IMAGE_SIZE,
    STRATEGY,
    display_value,
    phrase,
    title_of,
)
from gpubench.analysis.report import Axis, Chart, ChartKind, Mark
from gpubench.analysis.statistics import Estimate, scale
from gpubench.analysis.study import Point, Study
from gpubench.api.enums import WorkloadKind

# Lines that can still be told apart by colour and shape.
MOST_SERIES = 8

Reading = Callable[[Point], Estimate | None]


@dataclass(frozen=True)
class _Curve:
    """What a family of charts draws, apart from its points."""

    key: str
    title: str
    category: str
    value: Axis
    read: Reading
    caption: str
    is_scaling: bool = False
    """Whether a line of perfect scaling belongs to it."""


def scaling_charts(study: Study, points: Sequence[Point]) -> list[Chart]:
    """Return time and speed-up over the number of GPUs (Fig. 1: one line per strategy)."""
    if GPUS not in study.axes or not points:
        return []
    metric = speed_basis(points[0]).metric
    workers = title_of(GPUS, on_cpu=points[0].is_on_cpu)
    one = phrase(GPUS, 1, on_cpu=points[0].is_on_cpu)
    curves = [
        _Curve(
            "scaling-time",
            f"{metric.title} over {workers}",
            GPUS,
            _axis(study, metric),
            lambda point: point.estimate(metric),
            "As Fig. 1 of Lawenda et al. 2025." if STRATEGY in study.axes else "",
        ),
        _Curve(
            "scaling-speedup",
            f"Speed-up over {workers}",
            GPUS,
            Axis(f"Speed-up against {one}", Unit.FACTOR.value),
            relative_speeds(points, SPEED_UP),
            "The grey line is perfect scaling.",
            is_scaling=True,
        ),
    ]
    if study.input.benchmark.spec.workload.kind is WorkloadKind.LLM_TUNING:
        curves.insert(0, _iteration_curve(study, workers))
    return _charts(study, points, curves)


def _iteration_curve(study: Study, workers: str) -> _Curve:
    return _Curve(
        "scaling-iteration",
        f"Iteration over {workers}",
        GPUS,
        _axis(study, ITERATION),
        lambda point: point.estimate(ITERATION),
        "As Fig. 4 of Lawenda et al. 2025." if DATASET in study.axes else "",
    )


def image_size_charts(study: Study, points: Sequence[Point]) -> list[Chart]:
    """Return time and efficiency over the image size (Fig. 2: left and right)."""
    if IMAGE_SIZE not in study.axes or not points:
        return []
    metric = speed_basis(points[0]).metric
    compare = relative_speeds(points, SPEED_UP)
    one = phrase(GPUS, 1, on_cpu=points[0].is_on_cpu)

    def percent(point: Point) -> Estimate | None:
        ratio = compare(point)
        return scale(ratio, 100) if ratio else None

    curves = [
        _Curve(
            "size-time",
            f"{metric.title} by image size",
            IMAGE_SIZE,
            _axis(study, metric),
            lambda point: point.estimate(metric),
            "As Fig. 2 (left) of Lawenda et al. 2025.",
        ),
        _Curve(
            "size-efficiency",
            "Efficiency by image size",
            IMAGE_SIZE,
            Axis(f"Speed compared to {one}", "%"),
            percent,
            f"As Fig. 2 (right): the paper's efficiency, 100 % being {one}.",
        ),
    ]
    return _charts(study, points, curves, colours=GPUS if GPUS in study.axes else None)


def _axis(study: Study, metric: Metric) -> Axis:
    return Axis(metric.title, unit_text(metric, study.input.benchmark.spec.workload.kind))


def _charts(
    study: Study, points: Sequence[Point], curves: Sequence[_Curve], colours: str | None = None
) -> list[Chart]:
    """Return the curves of each panel beside one another."""
    category = curves[0].category
    colours = colours or colour_axis(study.axes, category)
    panels = split_into_panels(points, study.axes, category, colours)
    drawn = panels[:MOST_PANELS]
    note = left_out_note(panels)
    charts = (_chart(curve, panel, colours, note) for panel in drawn for curve in curves)
    return [chart for chart in charts if chart]


def _chart(curve: _Curve, panel: Panel, colours: str | None, note: str) -> Chart | None:
    series = _series(panel.points, colours)
    marks = tuple(_marks(curve, panel.points, colours, series[:MOST_SERIES]))
    if len({mark.category for mark in marks}) < 2:
        return None
    return Chart(
        key=f"{curve.key}-{panel.number}",
        title=f"{curve.title} ({panel.title})" if panel.title else curve.title,
        kind=ChartKind.LINES,
        category=Axis(
            title_of(curve.category, on_cpu=panel.points[0].is_on_cpu),
            "px" if curve.category == IMAGE_SIZE else "",
        ),
        value=curve.value,
        marks=marks,
        series=title_of(colours, on_cpu=panel.points[0].is_on_cpu) if colours else "",
        caption=" ".join(part for part in (curve.caption, _series_note(series), note) if part),
        ideal=_ideal(marks) if curve.is_scaling else (),
    )


def _series_note(series: Sequence[str]) -> str:
    if len(series) <= MOST_SERIES:
        return ""
    return f"{MOST_SERIES} of {len(series)} series are drawn; the tables hold all of them."


def _series(points: Sequence[Point], colours: str | None) -> list[str]:
    if colours is None:
        return [""]
    return list(dict.fromkeys(_series_name(point, colours) for point in points))


def _series_name(point: Point, colours: str | None) -> str:
    return display_value(colours, point.parameters.get(colours)) if colours else ""


def _marks(
    curve: _Curve, points: Sequence[Point], colours: str | None, series: Sequence[str]
) -> Iterator[Mark]:
    for point in points:
        estimate = curve.read(point)
        category = point.parameters.get(curve.category)
        name = _series_name(point, colours)
        if estimate is None or not isinstance(category, int) or name not in series:
            continue
        yield Mark(
            category=category,
            value=estimate.mean,
            series=name,
            spread=estimate.std,
            detail=(("Valid runs", format_number(estimate.n, 0)),),
        )


def _ideal(marks: Sequence[Mark]) -> tuple[tuple[int, float], ...]:
    """Return perfect scaling: N GPUs are N times as fast as one."""
    counts = sorted({mark.category for mark in marks if isinstance(mark.category, int)})
    return tuple((count, float(count)) for count in counts)
