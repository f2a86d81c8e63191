"""Panels as charts: what Grafana would draw of the same answers, as near as a person needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import altair as alt
import polars as pl

from scripts.panel_data import Series, Target, series_name

COLUMN_PIXELS = 54
LINE_PIXELS = 24
MARGIN_PIXELS = 64
"""Of a panel's width, for its axis."""
MOST_ROWS = 15
AXIS_FORMATS = {"percentunit": ".1~%", "s": "~g", "dateTimeFromNow": "", "dateTimeAsIso": ""}

FACTORS = {
    "percentunit": (1.0, "{:.1%}"),
    "bytes": (2**-30, "{:.3g} GiB"),
    "watt": (1.0, "{:.0f} W"),
}
Drawing = Any
"""A chart of Altair, whose methods return too many kinds to name."""
Answers = Sequence[tuple[Target, list[Series]]]
Panel = Mapping[str, Any]


def draw_panel(panel: Panel, answers: Answers) -> Drawing:
    """Return a panel as a chart of its size."""
    draw = KINDS[panel["type"]]
    place = panel["gridPos"]
    width = place["w"] * COLUMN_PIXELS - MARGIN_PIXELS
    height = place["h"] * LINE_PIXELS
    title = alt.TitleParams(panel["title"], anchor="start", fontSize=12)
    chart = draw(panel, answers)
    return chart.properties(width=width, height=height, title=title)


def _times(panel: Panel, answers: Answers) -> Drawing:
    rows = [
        {
            "time": datetime.fromtimestamp(moment, UTC),
            "value": value,
            "series": series_name(series, target.legend),
        }
        for target, found in answers
        for series in found
        for moment, value in series.points
        if math.isfinite(value)
    ]
    names = {row["series"] for row in rows}
    is_stacked = "stacking" in panel["fieldConfig"]["defaults"].get("custom", {})
    chart = alt.Chart(pl.DataFrame(rows))
    mark = chart.mark_area(opacity=0.7) if is_stacked else chart.mark_line(strokeWidth=1.5)
    return mark.encode(
        x=alt.X("time:T", title=None, axis=alt.Axis(format="%H:%M", tickCount=5)),
        y=alt.Y("value:Q", title=None, axis=_axis(panel), stack="zero" if is_stacked else None),
        color=_color("series", panel, names),
    )


def _bars(panel: Panel, answers: Answers) -> Drawing:
    row, column = _matrix(panel)
    is_whole = panel["options"]["stacking"] == "percent"
    data = _labelled(answers, row, column)
    longest = max(len(name) for name in data["row"])
    names = alt.X("row:N", title=None, axis=alt.Axis(labelAngle=0 if longest < 12 else -20))
    stack: Literal["normalize"] | None = "normalize" if is_whole else None
    values = alt.Y("value:Q", title=None, axis=_axis(panel), stack=stack)
    drawn = alt.Chart(data).mark_bar().encode(x=names, y=values, color=_color("column", panel))
    return drawn if is_whole else drawn.encode(xOffset=alt.XOffset("column:N"))


def _curves(panel: Panel, answers: Answers) -> Drawing:
    row, column = _matrix(panel)
    data = _labelled(answers, row, column).with_columns(pl.col("row").cast(pl.Int64))
    return (
        alt.Chart(data)
        .mark_line(point=True)
        .encode(
            x=alt.X("row:O", title=row, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title=None, axis=_axis(panel)),
            color=_color("column", panel),
        )
    )


def _stat(panel: Panel, answers: Answers) -> Drawing:
    unit = panel["fieldConfig"]["defaults"].get("unit", "short")
    found = [(series_name(s, t.legend), s.value) for t, answer in answers for s in answer]
    is_named = panel["options"].get("textMode") == "name"
    rows = [
        {
            "at": index,
            "name": name if len(found) > 1 else "",
            "text": name if is_named else written(value, unit),
        }
        for index, (name, value) in enumerate(found)
    ]
    base = alt.Chart(pl.DataFrame(rows)).encode(x=alt.X("at:O", axis=None))
    size = min(24, 5.5 * panel["gridPos"]["w"] * COLUMN_PIXELS / 32 / len(rows))
    numbers = base.mark_text(fontSize=size, fontWeight="bold").encode(text="text:N")
    names = base.mark_text(fontSize=11, dy=24, color="grey").encode(text="name:N")
    return alt.layer(numbers, names)


def _table(panel: Panel, answers: Answers) -> Drawing:
    head, *columns = answers
    labels = _renamed(panel)
    key = next(iter(labels), "")
    titles = [label for label in labels if not label.startswith("Value #")]
    units = {
        override["matcher"]["options"]: {p["id"]: p["value"] for p in override["properties"]}
        for override in panel["fieldConfig"]["overrides"]
    }
    cells: list[dict[str, object]] = []
    shown = sorted(head[1], key=lambda series: [series.labels.get(name, "") for name in titles[1:]])
    for line, series in enumerate(shown[:MOST_ROWS]):
        words = {labels[name]: series.labels.get(name, "") for name in titles}
        for target, found in columns:
            title = labels[f"Value #{target.ref}"]
            values = [s.value for s in found if s.labels.get(key) == series.labels.get(key)]
            unit = units.get(title, {}).get("unit", "short")
            words[title] = written(values[0], unit) if values else ""
        if not columns:
            words["Value"] = written(series.value, "short")
        cells += [{"row": line, "column": c, "text": t} for c, t in words.items()]
    order = list(dict.fromkeys(str(cell["column"]) for cell in cells))
    axis = alt.Axis(orient="top", labelAngle=0, title=None, domain=False, ticks=False)
    chart = alt.Chart(pl.DataFrame(cells)).mark_text(fontSize=11, limit=180)
    text = chart.encode(
        x=alt.X("column:N", sort=order, axis=axis), y=alt.Y("row:O", axis=None), text="text:N"
    )
    return alt.layer(text)


KINDS: Mapping[str, Callable[[Panel, Answers], Any]] = {
    "timeseries": _times,
    "barchart": _bars,
    "trend": _curves,
    "stat": _stat,
    "table": _table,
}


def written(value: float, unit: str) -> str:
    """Return a number as a person reads it, near to what Grafana writes."""
    if unit.startswith("dateTime"):
        return f"{datetime.fromtimestamp(value / 1000, UTC):%H:%M:%S}"
    if unit == "s":
        return _duration(value)
    if unit in FACTORS:
        factor, form = FACTORS[unit]
        return form.format(value * factor)
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"


def _duration(seconds: float) -> str:
    if abs(seconds) >= 120:
        return f"{seconds / 60:.1f} min"
    return f"{seconds:.3g} s" if abs(seconds) >= 1 else f"{seconds * 1000:.3g} ms"


def _matrix(panel: Panel) -> tuple[str, str]:
    (options,) = [t["options"] for t in panel["transformations"] if t["id"] == "groupingToMatrix"]
    return options["rowField"], options["columnField"]


def _renamed(panel: Panel) -> dict[str, str]:
    (options,) = [t["options"] for t in panel["transformations"] if t["id"] == "organize"]
    renamed: dict[str, str] = options["renameByName"]
    return renamed


def _labelled(answers: Answers, row: str, column: str) -> pl.DataFrame:
    ((_, found),) = answers
    rows = [
        {
            "row": series.labels.get(row, ""),
            "column": " ".join(series.labels.get(column, "").split()),
            "value": series.value,
        }
        for series in found
    ]
    return pl.DataFrame(sorted(rows, key=lambda one: (str(one["row"]), str(one["column"]))))


def _axis(panel: Panel) -> alt.Axis:
    unit = panel["fieldConfig"]["defaults"].get("unit", "short")
    return alt.Axis(format=AXIS_FORMATS.get(unit, "~s"), tickCount=5)


def _color(field: str, panel: Panel, names: Collection[object] = ()) -> alt.Color:
    columns = max(panel["gridPos"]["w"] // 4, 1)
    limit = panel["gridPos"]["w"] * COLUMN_PIXELS // columns - 30
    legend = alt.Legend(title=None, orient="bottom", columns=columns, labelLimit=limit)
    fixed = {
        override["matcher"]["options"]: prop["value"]["fixedColor"]
        for override in panel["fieldConfig"]["overrides"]
        for prop in override["properties"]
        if prop["id"] == "color" and override["matcher"]["options"] in names
    }
    if not fixed:
        return alt.Color(f"{field}:N", legend=legend)
    scale = alt.Scale(domain=list(fixed), range=list(fixed.values()))
    return alt.Color(f"{field}:N", legend=legend, scale=scale)
