"""The charts of every device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpubench.analysis.charts.bars import phases_chart, throughput_chart
from gpubench.analysis.charts.curves import image_size_charts, scaling_charts
from gpubench.analysis.charts.families import (
    families_chart,
    family_seconds_chart,
)
from gpubench.analysis.report import Block, Chart, Note, Section
from gpubench.analysis.study import DeviceModel, Point, Study


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
