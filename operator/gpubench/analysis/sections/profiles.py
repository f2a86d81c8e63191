"""A table of what profiles found at each point."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpubench.analysis.charts.families import family_shares, largest_families
from gpubench.analysis.columns import (
    FilledColumn,
    assemble,
    axis_columns,
    estimate_column,
    text_column,
    with_words,
)
from gpubench.analysis.metrics import Unit
from gpubench.analysis.report import Column, Section
from gpubench.analysis.statistics import summarize
from gpubench.analysis.study import Point, Study
from gpubench.api.enums import Family
from gpubench.api.result import Profile


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
            text_column("profiler", "Profiler", [_profilers(point) for point in points]),
            *(_profile_column(points, *column) for column in _PROFILE_COLUMNS),
            *(_family_column(points, family) for family in families),
        ],
    )
    return Section("profiles", "Profiles", (with_words(table, _PROFILES_CAPTION),))


def _profilers(point: Point) -> str:
    return ", ".join(sorted({result.profile.source for result in point.results if result.profile}))


_PROFILES_CAPTION = (
    "Time of each family over the window's length and the ranks, mean over valid repetitions. "
    "Host and GPU work side by side, so shares do not add up to 100 %. Hidden is what ran beside "
    "computation; exposed communication kept all else waiting. Copies are those of all ranks."
)


def _copied(profile: Profile, family: Family) -> float | None:
    """Return the MiB that all ranks together copied in each step."""
    found = profile.families.get(family)
    steps = profile.window.steps
    if found is None or found.copies is None or not steps:
        return None
    return found.copies.total_bytes / steps / 2**20


_PROFILE_COLUMNS: tuple[tuple[str, str, Unit, Callable[[Profile], float | None]], ...] = (
    ("window", "Window", Unit.SECONDS, lambda profile: profile.window.seconds),
    ("overhead", "Overhead", Unit.PERCENT, lambda profile: _percent(profile.overhead)),
    ("idle", "GPU idle", Unit.PERCENT, lambda profile: _percent(profile.idle_share)),
    (
        "communicationOverlap",
        "Communication hidden",
        Unit.PERCENT,
        lambda profile: (
            _percent(profile.activity.communication_overlap) if profile.activity else None
        ),
    ),
    (
        "exposedCommunication",
        "Communication exposed",
        Unit.SECONDS,
        lambda profile: (
            profile.activity.exposed_communication_seconds if profile.activity else None
        ),
    ),
    (
        "copyOverlap",
        "Copies hidden",
        Unit.PERCENT,
        lambda profile: _percent(profile.activity.copy_overlap) if profile.activity else None,
    ),
    (
        "hostToDevice",
        "To the device, per step",
        Unit.MEBIBYTES,
        lambda profile: _copied(profile, Family.MEMCPY_HOST_TO_DEVICE),
    ),
    (
        "deviceToHost",
        "From the device, per step",
        Unit.MEBIBYTES,
        lambda profile: _copied(profile, Family.MEMCPY_DEVICE_TO_HOST),
    ),
    (
        "launchLatency",
        "Launch latency, median",
        Unit.MILLISECONDS,
        lambda profile: profile.launch_latency.p50 * 1e3 if profile.launch_latency else None,
    ),
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
