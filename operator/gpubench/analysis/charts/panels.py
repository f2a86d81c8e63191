"""Points split over several charts: one for each combination of what a chart cannot show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpubench.analysis.parameters import (
    DATASET,
    GPUS,
    IMAGE_SIZE,
    MODEL,
    PIN_MEMORY,
    PRECISION,
    STRATEGY,
)
from gpubench.analysis.study import Point

# A page with more drawings than this is not looked at; the tables have every point.
MOST_PANELS = 6

# What colours tell apart, the first that varies: the paper's Fig. 1 has one line per strategy.
_COLOUR_ORDER = (
    STRATEGY,
    PRECISION,
    PIN_MEMORY,
    "inputPipeline",
    "compile",
    "memoryFormat",
    "method",
    DATASET,
    MODEL,
    IMAGE_SIZE,
    "batchSize",
    GPUS,
)


@dataclass(frozen=True)
class Panel:
    """The points of one chart."""

    number: int
    title: str
    """What its points have in common and the next panel's do not; empty if there is one panel."""
    points: tuple[Point, ...]


def colour_axis(axes: Sequence[str], category: str) -> str | None:
    """Return the parameter whose values become series, None if only the category varies."""
    others = [axis for axis in axes if axis != category]
    ranked = [axis for axis in _COLOUR_ORDER if axis in others]
    return next(iter([*ranked, *others]), None)


def split_into_panels(
    points: Sequence[Point], axes: Sequence[str], *drawn: str | None
) -> tuple[Panel, ...]:
    """Return the points grouped by the parameters that are not drawn, in their order."""
    rest = [axis for axis in axes if axis not in drawn]
    groups: dict[str, list[Point]] = {}
    for point in points:
        title = ", ".join(point.phrase(axis) for axis in rest)
        groups.setdefault(title, []).append(point)
    return tuple(
        Panel(number, title, tuple(members))
        for number, (title, members) in enumerate(groups.items(), start=1)
    )


def left_out_note(panels: Sequence[Panel]) -> str:
    """Say how many combinations are not drawn; empty where all are."""
    if len(panels) <= MOST_PANELS:
        return ""
    return f"{MOST_PANELS} of {len(panels)} combinations are drawn; the tables hold all of them."
