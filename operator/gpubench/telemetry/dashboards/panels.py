"""The kinds of panels that the dashboards are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from grafana_foundation_sdk.builders import barchart, common, prometheus, stat, table, timeseries
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import trend as trends
from grafana_foundation_sdk.models import common as visuals
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from gpubench.telemetry.dashboards.frame import SOURCE

AnyPanel = TypeVar(
    "AnyPanel", stat.Panel, timeseries.Panel, barchart.Panel, trends.Panel, table.Panel
)


@dataclass(frozen=True)
class Shape:
    """How much room a panel has, of 24 columns, and what its numbers are."""

    width: int = 8
    height: int = 8
    unit: str = "short"
    decimals: int | None = None


@dataclass(frozen=True)
class Query:
    """An expression and how its series are called."""

    expression: str
    legend: str = "__auto"


PHASE_COLORS = {
    "Pending": "#b8b8b8",
    "Running": "#5794f2",
    "Retrying": "#b877d9",
    "Succeeded": "#73bf69",
    "Completed": "#73bf69",
    "Invalid": "#ff9830",
    "Failed": "#f2495c",
}


def stat_panel(
    title: str, queries: Sequence[Query], shape: Shape, text: str = "", *, named: bool = False
) -> stat.Panel:
    """Return large numbers, or where `named` the names of what holds now."""
    panel = (
        _placed(stat.Panel(), title, text, shape)
        .unit(shape.unit)
        .graph_mode(visuals.BigValueGraphMode.NONE)
        .color_mode(visuals.BigValueColorMode.NONE)
        .text_mode(visuals.BigValueTextMode.NAME if named else visuals.BigValueTextMode.AUTO)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .targets([_target(query, ref).instant() for ref, query in _numbered(queries)])
    )
    return panel if shape.decimals is None else panel.decimals(shape.decimals)


def time_panel(
    title: str, queries: Sequence[Query], shape: Shape, text: str = "", *, stacked: bool = False
) -> timeseries.Panel:
    """Return curves over time, or runs by phase stacked in the phases' colours."""
    panel = (
        _placed(timeseries.Panel(), title, text, shape)
        .unit(shape.unit)
        .min(0)
        .line_width(2)
        .fill_opacity(60 if stacked else 0)
        .show_points(visuals.VisibilityMode.NEVER)
        .legend(_legend())
        .tooltip(common.VizTooltipOptions().mode(visuals.TooltipDisplayMode.MULTI))
        .targets([_target(query, ref).range() for ref, query in _numbered(queries)])
    )
    if stacked:
        panel = panel.stacking(common.StackingConfig().mode(visuals.StackingMode.NORMAL))
    for phase, color in PHASE_COLORS.items() if stacked else ():
        fixed = {"mode": "fixed", "fixedColor": color}
        panel = panel.override_by_name(phase, [models.DynamicConfigValue("color", fixed)])
    return panel


def bars_panel(
    title: str,
    expression: str,
    by: tuple[str, str],
    shape: Shape,
    text: str = "",
    stacking: visuals.StackingMode = visuals.StackingMode.NONE,
) -> barchart.Panel:
    """Return bars: groups by the first label, colours by the second."""
    return (
        _placed(barchart.Panel(), title, text, shape)
        .unit(shape.unit)
        .min(0)
        .orientation(visuals.VizOrientation.VERTICAL)
        .stacking(stacking)
        .show_value(visuals.VisibilityMode.NEVER)
        .fill_opacity(80)
        .group_width(0.8)
        .bar_width(0.9)
        .x_field(_corner(by))
        .legend(_legend())
        .targets([_table(Query(expression), "A")])
        .transformations([_sorted_by(by[0]), _matrix(by)])
    )


def curves_panel(
    title: str, expression: str, by: tuple[str, str], shape: Shape, text: str = ""
) -> trends.Panel:
    """Return curves over the first label, which is a number, one for each value of the second."""
    to_number = {"targetField": _corner(by), "destinationType": "number"}
    return (
        _placed(trends.Panel(), title, text, shape)
        .unit(shape.unit)
        .min(0)
        .line_width(2)
        .show_points(visuals.VisibilityMode.ALWAYS)
        .point_size(7)
        .x_field(_corner(by))
        .legend(_legend())
        .targets([_table(Query(expression), "A")])
        .transformations(
            [
                _sorted_by(by[0]),
                _matrix(by),
                _transformation("convertFieldType", {"conversions": [to_number]}),
            ]
        )
    )


@dataclass(frozen=True)
class Column:
    """A column of a table: what one query found."""

    title: str
    expression: str
    unit: str = "short"
    decimals: int = 1


def table_panel(
    title: str,
    rows: tuple[str, Mapping[str, str]],
    columns: Sequence[Column],
    shape: Shape,
    text: str = "",
) -> table.Panel:
    """Return a table: its first query gives labels, by name and title, the others a number each.

    They are joined by the first label; what a row has no number of stays empty.
    """
    expression, labels = rows
    queries = [Query(expression), *(Query(column.expression) for column in columns)]
    refs = [ref for ref, _ in _numbered(queries)]
    names = {f"Value #{ref}": c.title for ref, c in zip(refs[1:], columns, strict=True)}
    hidden = ["Time", "Value #A", *(f"Time {number}" for number in range(1, len(refs) + 1))]
    panel = (
        _placed(table.Panel(), title, text, shape)
        .align(visuals.FieldTextAlignment.AUTO)
        .targets([_table(query, ref) for ref, query in _numbered(queries)])
        .transformations(
            [
                _transformation("joinByField", {"byField": next(iter(labels)), "mode": "outer"}),
                _transformation(
                    "organize",
                    {
                        "excludeByName": dict.fromkeys(hidden, True),
                        "indexByName": {
                            name: index for index, name in enumerate([*labels, *names])
                        },
                        "renameByName": {**labels, **names},
                    },
                ),
            ]
        )
    )
    for column in columns:
        properties = {"unit": column.unit, "decimals": column.decimals}
        panel = panel.override_by_name(
            column.title, [models.DynamicConfigValue(key, v) for key, v in properties.items()]
        )
    return panel


def _placed(panel: AnyPanel, title: str, text: str, shape: Shape) -> AnyPanel:
    """Return a panel with what all kinds have: what it is called, asks and takes of the page."""
    named = panel.title(title).description(text).datasource(SOURCE)
    return named.span(shape.width).height(shape.height)


def row(title: str) -> builders.Row:
    """Return a heading."""
    return builders.Row(title)


def _target(query: Query, ref: str) -> prometheus.Dataquery:
    found = prometheus.Dataquery().datasource(SOURCE).ref_id(ref)
    return found.expr(query.expression).legend_format(query.legend)


def _table(query: Query, ref: str) -> prometheus.Dataquery:
    return _target(query, ref).instant().format(PromQueryFormat.TABLE)


def _numbered(queries: Sequence[Query]) -> list[tuple[str, Query]]:
    """Return queries with the letters by which Grafana tells them apart."""
    return [(chr(ord("A") + index), query) for index, query in enumerate(queries)]


def _legend() -> common.VizLegendOptions:
    return (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(visuals.LegendDisplayMode.LIST)
        .placement(visuals.LegendPlacement.BOTTOM)
    )


def _corner(by: tuple[str, str]) -> str:
    """Return how Grafana calls the first column of a matrix."""
    return f"{by[0]}\\{by[1]}"


def _matrix(by: tuple[str, str]) -> models.DataTransformerConfig:
    fields = {"rowField": by[0], "columnField": by[1], "valueField": "Value", "emptyValue": "null"}
    return _transformation("groupingToMatrix", fields)


def _sorted_by(label: str) -> models.DataTransformerConfig:
    return _transformation("sortBy", {"fields": {}, "sort": [{"field": label}]})


def _transformation(name: str, options: Mapping[str, object]) -> models.DataTransformerConfig:
    return models.DataTransformerConfig(id_val=name, options=dict(options))
