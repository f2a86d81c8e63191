"""Charts as Vega-Lite, by altair. Colours are left to the page, which knows light from dark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from gpubench.analysis.metrics import Unit
from gpubench.analysis.numerals import decimals_for, format_number
from gpubench.analysis.report import Chart, ChartKind, Mark

HEIGHT = 280
BAR_STEP = 24

# Lines are told apart by shape too, for whom colours are not enough.
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3], [10, 4], [3, 1])
_SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "stroke",
    "wedge",
)

_AUTOSIZE = alt.AutoSizeParams(type="fit-x", contains="padding")

IDEAL_COLOR = "#8a929e"


def draw(chart: Chart) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart, its data inside."""
    drawn = _DRAWERS[chart.kind](chart).properties(width="container", autosize=_AUTOSIZE)
    specification: dict[str, Any] = drawn.to_dict()
    # The page sets its own configuration, and no address of a schema is wanted in it.
    for unwanted in ("$schema", "config"):
        specification.pop(unwanted, None)
    return specification


def vega_lite_version() -> str:
    """Return the version of Vega-Lite that altair writes, such as 6.4."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _data(chart: Chart, marks: Sequence[Mark]) -> alt.InlineData:
    decimals = decimals_for((mark.value for mark in marks), Unit.SECONDS)
    order = {name: rank for rank, name in enumerate(_series_names(chart))}
    rows = [_row(chart, mark, decimals, order[mark.series]) for mark in marks]
    return alt.InlineData(values=rows)


def _row(chart: Chart, mark: Mark, decimals: int, rank: int) -> dict[str, Any]:
    spread = f" ± {format_number(mark.spread, decimals)}" if mark.spread is not None else ""
    text = f"{format_number(mark.value, decimals)}{spread} {chart.value.unit}".strip()
    row: dict[str, Any] = {
        "category": mark.category,
        "value": mark.value,
        "series": mark.series,
        "rank": rank,
        "text": text,
        **dict(mark.detail),
    }
    if mark.spread:
        row |= {"low": max(mark.value - mark.spread, 0.0), "high": mark.value + mark.spread}
    return row


def _series_names(chart: Chart) -> list[str]:
    return list(dict.fromkeys(mark.series for mark in chart.marks))


def _tooltip(chart: Chart) -> list[alt.Tooltip]:
    lines = [alt.Tooltip("category", type="nominal", title=chart.category.heading)]
    if chart.series:
        lines.append(alt.Tooltip("series", type="nominal", title=chart.series))
    lines.append(alt.Tooltip("text", type="nominal", title=chart.value.title))
    labels = dict.fromkeys(label for mark in chart.marks for label, _ in mark.detail)
    return lines + [alt.Tooltip(label, type="nominal", title=label) for label in labels]


def _lines(chart: Chart) -> alt.LayerChart:
    categories = sorted({int(mark.category) for mark in chart.marks})
    base = alt.Chart(_data(chart, chart.marks), height=HEIGHT).encode(
        x=alt.X(
            "category",
            type="quantitative",
            title=chart.category.heading,
            scale=alt.Scale(zero=False, nice=False, padding=18),
            axis=alt.Axis(values=categories, format="d", grid=False),
        ),
        y=_value_channel(alt.Y, chart, scale=alt.Scale(zero=True)),
        tooltip=_tooltip(chart),
    )
    return alt.LayerChart(layer=[*_ideal(chart), *_line_layers(chart, base)])


def _line_layers(chart: Chart, base: alt.Chart) -> list[alt.Chart]:
    if not chart.series:
        return [
            base.mark_line(strokeWidth=2),
            *_error_bars(chart, base),
            base.mark_point(filled=True, size=70),
        ]
    names = _series_names(chart)
    # Vega-Lite joins the legends of channels whose scales list the same domain, if each channel
    # occurs in one layer only: stroke and dash in the lines, fill and shape in the points.
    line = base.mark_line(strokeWidth=2).encode(
        stroke=_by_series(alt.Stroke, chart, names),
        strokeDash=_by_series(alt.StrokeDash, chart, names, _DASHES),
    )
    points = base.mark_point(size=70, opacity=1, strokeWidth=0).encode(
        fill=_by_series(alt.Fill, chart, names),
        shape=_by_series(alt.Shape, chart, names, _SHAPES),
    )
    return [line, *_error_bars(chart, base), points]


def _by_series(
    channel: Callable[..., Any],
    chart: Chart,
    names: Sequence[str],
    looks: Sequence[Any] | None = None,
) -> Any:
    """Return an encoding that tells series apart, by the page's colours if by nothing else.

    Names go into the scale's domain. As a list to sort by they would become part of an expression,
    and a name with a line separator in it would break the chart.
    """
    scale = alt.Scale(domain=list(names))
    if looks:
        scale.range = [looks[rank % len(looks)] for rank in range(len(names))]
    return channel("series", type="nominal", title=chart.series, sort=None, scale=scale)


def _error_bars(chart: Chart, base: alt.Chart) -> list[alt.Chart]:
    """Return one standard deviation to either side, where there are repetitions."""
    if not any(mark.spread for mark in chart.marks):
        return []
    bars = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.5)
    return [bars.encode(y=alt.Y("low", type="quantitative"), y2="high")]


def _ideal(chart: Chart) -> list[alt.Chart]:
    if not chart.ideal:
        return []
    rows = [{"category": category, "value": value} for category, value in chart.ideal]
    line = alt.Chart(alt.InlineData(values=rows)).mark_line(
        strokeDash=[3, 3], strokeWidth=1.5, color=IDEAL_COLOR
    )
    return [
        line.encode(x=alt.X("category", type="quantitative"), y=alt.Y("value", type="quantitative"))
    ]


def _value_channel(channel: Callable[..., Any], chart: Chart, **settings: Any) -> Any:
    axis = alt.Axis(tickCount=5, labelOverlap=True, labelSeparation=10)
    return channel("value", type="quantitative", title=chart.value.heading, axis=axis, **settings)


def _categories(chart: Chart) -> list[str]:
    return list(dict.fromkeys(str(mark.category) for mark in chart.marks))


def _bar_axis(chart: Chart) -> alt.Y:
    return alt.Y(
        "category",
        type="nominal",
        title=None,
        sort=None,
        scale=alt.Scale(domain=_categories(chart)),
        axis=alt.Axis(domain=False, ticks=False, labelPadding=8),
    )


def _bars(chart: Chart) -> alt.LayerChart:
    base = alt.Chart(_data(chart, chart.marks), height=BAR_STEP * len(_categories(chart))).encode(
        y=_bar_axis(chart),
        x=_value_channel(alt.X, chart),
        tooltip=_tooltip(chart),
    )
    layers = [base.mark_bar(cornerRadiusEnd=2, height={"band": 0.68})]
    if any(mark.spread for mark in chart.marks):
        spread = base.transform_filter("isValid(datum.low)")
        layers.append(
            spread.mark_rule(strokeWidth=1.5).encode(x=alt.X("low", type="quantitative"), x2="high")
        )
    return alt.LayerChart(layer=layers)


def _stacked_bars(chart: Chart) -> alt.Chart:
    base = alt.Chart(_data(chart, chart.marks), height=BAR_STEP * len(_categories(chart)))
    bars: alt.Chart = base.mark_bar(height={"band": 0.72}).encode(
        y=_bar_axis(chart),
        x=_value_channel(alt.X, chart, stack="zero"),
        color=_by_series(alt.Color, chart, _series_names(chart)),
        order=alt.Order("rank", type="quantitative"),
        tooltip=_tooltip(chart),
    )
    return bars


_DRAWERS: dict[ChartKind, Callable[[Chart], alt.Chart | alt.LayerChart]] = {
    ChartKind.LINES: _lines,
    ChartKind.BARS: _bars,
    ChartKind.STACKED_BARS: _stacked_bars,
}
