"""A profile as a picture: families by time, phases, and what the GPUs were busy with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import vl_convert

from gpubench.analysis.drawing import draw, vega_lite_version
from gpubench.analysis.report import Axis, Chart, ChartKind, Mark
from gpubench.api.enums import Family
from gpubench.api.profile import Profile

MOST_FAMILIES = 16
WIDTH = 620
SCALE = 2.0
"""Pixels of a PNG for each pixel of the drawing."""
_MEASURED = Axis("Share of the window", "%")


def plot_profile(profile: Profile, form: str, title: str) -> bytes:
    """Return the picture as a file of the form, .png, .svg or .html."""
    charts = [_sized(draw(chart), chart.title) for chart in _charts(profile)]
    # Only the whole may hold data by name; a part that does is drawn empty, without a word.
    datasets = {name: rows for chart in charts for name, rows in chart.pop("datasets", {}).items()}
    specification: dict[str, Any] = {
        "title": {"text": title, "anchor": "start", "fontSize": 15, "offset": 14},
        "background": "white",
        "padding": 16,
        "spacing": 28,
        "vconcat": charts,
        "datasets": datasets,
        "resolve": {"scale": {"color": "independent"}},
        "config": {"axis": {"labelLimit": 260}, "view": {"stroke": None}},
    }
    version = vega_lite_version()
    if form == ".png":
        return vl_convert.vegalite_to_png(specification, vl_version=version, scale=SCALE)
    if form == ".svg":
        return vl_convert.vegalite_to_svg(specification, vl_version=version).encode()
    page = vl_convert.vegalite_to_html(specification, vl_version=version, bundle=True)
    return page.encode()


def _sized(specification: dict[str, Any], title: str) -> dict[str, Any]:
    """Return a drawing of a fixed width; on a page it would be as wide as its place."""
    fixed = {key: value for key, value in specification.items() if key != "autosize"}
    return {**fixed, "width": WIDTH, "title": {"text": title, "anchor": "start"}}


def _charts(profile: Profile) -> Iterator[Chart]:
    yield _chart("families", "Families", tuple(_family_marks(profile)), "What it is")
    if profile.phases:
        marks = (
            Mark(phase.name, phase.share * 100, "Time on the host") for phase in profile.phases
        )
        yield _chart("phases", "Phases of the training", tuple(marks), "What it is")
    if profile.activity:
        yield _chart("activity", "The GPUs", tuple(_activity_marks(profile)), "What they did")


def _chart(key: str, title: str, marks: tuple[Mark, ...], series: str) -> Chart:
    return Chart(key, title, ChartKind.STACKED_BARS, Axis(""), _MEASURED, marks, series)


def _family_marks(profile: Profile) -> Iterator[Mark]:
    longest = sorted(profile.families.items(), key=lambda item: -item[1].total_seconds)
    for family, numbers in longest[:MOST_FAMILIES]:
        yield Mark(family.value, numbers.share * 100, _group(family))


def _group(family: Family) -> str:
    if family is Family.COMPUTE_KERNEL:
        return "Computation on the GPU"
    if family.value.startswith("nccl"):
        return "Communication on the GPU"
    if family.value.startswith("memcpy") or family is Family.MEMSET:
        return "Copies"
    if family in {Family.OS_RUNTIME_WAIT, Family.OS_RUNTIME_CALL}:
        return "Operating system"
    return "Calls on the host"


def _activity_marks(profile: Profile) -> Iterator[Mark]:
    activity = profile.activity
    assert activity is not None
    whole = activity.gpus * profile.window.seconds
    if not whole:
        return
    beside = activity.communication_seconds - activity.exposed_communication_seconds
    only_compute = activity.compute_seconds - beside
    exposed = activity.exposed_communication_seconds
    rest = activity.busy_seconds - activity.compute_seconds - exposed
    for name, seconds in (
        ("Computing", only_compute),
        ("Computing and communicating", beside),
        ("Only communicating", exposed),
        ("Only copying", max(rest, 0.0)),
        ("Idle", max(whole - activity.busy_seconds, 0.0)),
    ):
        yield Mark("all GPUs", seconds / whole * 100, name)
