"""The charts of every device, and a table of what profiles found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpubench.analysis.charts.bars import phases_chart, throughput_chart
from gpubench.analysis.charts.curves import image_size_charts, scaling_charts
from gpubench.analysis.charts.families import (
    families_chart,
    family_seconds_chart,
    family_shares,
    largest_families,
)
from gpubench.analysis.columns import (
    FilledColumn,
    assemble,
    axis_columns,
    estimate_column,
    text_column,
    with_words,
)
from gpubench.analysis.metrics import Unit
from gpubench.analysis.report import Block, Chart, Column, Note, Section
from gpubench.analysis.statistics import summarize
from gpubench.analysis.study import DeviceModel, Point, Study
from gpubench.api.enums import Family
from gpubench.api.result import Profile


def charts_section(study: Study) -> Section | None:
    """Return the charts for which there are data, None where there are none at all."""
    if not any(point.results for point in study.points):
        return None
    devices = [device for device in study.devices if _measured(study, device)]
    blocks: list[Block] = []
    for number, device in enumerate(devices, start=1):
        charts = _device_charts(study, _measured(study, device))
        blocks += charts if len(devices) == 1 else _marked(charts, device, number)
    if not any(result.profile for point in study.points for result in point.results):
        blocks.append(Note("No run was profiled, so there is no chart of profiler families."))
    return Section("charts", "Charts", tuple(blocks))


def profiles_section(study: Study) -> Section | None:
    """Return what profilers found at each point, None where no run was profiled."""
    points = [point for point in study.points if family_shares(point)]
    if not points:
        return None
    families = largest_families(points)
    devices = [point.device.label if point.device else "" for point in points]
    table = assemble(
        "profiles",
        "Shares of the profiled window",
        [
            *axis_columns(
                [point.parameters for point in points], study.axes, on_cpu=study.is_on_cpu
            ),
            text_column("device", "Device", devices) if len(study.devices) > 1 else None,
            *(_profile_column(points, *column) for column in _PROFILE_COLUMNS),
            *(_family_column(points, family) for family in families),
        ],
    )
    return Section("profiles", "Profiles", (with_words(table, _PROFILES_CAPTION),))


_PROFILES_CAPTION = (
    "Time of each family over the window's length and the ranks, mean over valid repetitions. "
    "Host and GPU work side by side, so shares do not add up to 100 %."
)

_PROFILE_COLUMNS: tuple[tuple[str, str, Unit, Callable[[Profile], float | None]], ...] = (
    ("window", "Window", Unit.SECONDS, lambda profile: profile.window.seconds),
    ("overhead", "Overhead", Unit.PERCENT, lambda profile: _percent(profile.overhead)),
    ("idle", "GPU idle", Unit.PERCENT, lambda profile: _percent(profile.idle_share)),
)


def _percent(value: float | None) -> float | None:
    return None if value is None else value * 100


def _profile_column(
    points: Sequence[Point],
    key: str,
    title: str,
    unit: Unit,
    read: Callable[[Profile], float | None],
) -> FilledColumn | None:
    estimates = [
        summarize(read(result.profile) for result in point.results if result.profile)
        for point in points
    ]
    return estimate_column(Column(key, title, unit.value), estimates, unit)


def _family_column(points: Sequence[Point], family: Family) -> FilledColumn | None:
    estimates = [
        summarize(
            result.profile.families[family].share * 100
            for result in point.results
            if result.profile and family in result.profile.families
        )
        for point in points
    ]
    return estimate_column(Column(f"family.{family}", family.value, "%"), estimates, Unit.PERCENT)


def _measured(study: Study, device: DeviceModel) -> tuple[Point, ...]:
    return tuple(point for point in study.points_on(device) if point.results)


def _device_charts(study: Study, points: Sequence[Point]) -> list[Chart]:
    charts = [
        *scaling_charts(study, points),
        *image_size_charts(study, points),
        throughput_chart(study, points),
        phases_chart(study, points),
        families_chart(study, points),
        family_seconds_chart(study, points),
    ]
    return [chart for chart in charts if chart]


def _marked(charts: Sequence[Chart], device: DeviceModel, number: int) -> list[Chart]:
    """Return the charts with the device in their titles, so that none is read for another's."""
    return [
        replace(chart, key=f"{chart.key}-device{number}", title=f"{chart.title}, {device.label}")
        for chart in charts
    ]
