"""Our points beside the published rows that they repeat."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpubench.analysis.papers.published import Paper, PaperRow, PaperTable, Value
from gpubench.analysis.parameters import display_value, title_of
from gpubench.analysis.statistics import Estimate, divide
from gpubench.analysis.study import Point
from gpubench.api.enums import DeviceKind


@dataclass(frozen=True)
class PaperMatch:
    """A point of ours and the published row of the same parameters."""

    point: Point
    paper: Paper
    table: PaperTable
    row: PaperRow
    differences: tuple[str, ...]
    """In which parameters the point is known or likely to differ all the same."""

    @property
    def is_other_device(self) -> bool:
        """Whether the point ran on another kind or model of device than the paper's."""
        device = self.point.device
        return (
            device is None
            or device.kind is not self.paper.device_kind
            or self.paper.device_pattern not in device.name
        )

    @property
    def is_comparable(self) -> bool:
        """Whether a ratio means anything: a CPU's time over a GPU's does not."""
        device = self.point.device
        return device is not None and device.kind is self.paper.device_kind is DeviceKind.CUDA

    @property
    def relative_speed(self) -> Estimate | None:
        """Return the paper's time over ours: above 1, ours is faster. None across device kinds."""
        ours = self.point.estimate(self.table.measured)
        if ours is None or not self.is_comparable:
            return None
        return divide(Estimate(n=ours.n, mean=self.row.value, std=None), ours)


def match_papers(points: Iterable[Point], papers: Iterable[Paper]) -> tuple[PaperMatch, ...]:
    """Return every pair of a valid point and a published row with the same parameters.

    Rows stay in the order of the papers; a point may match several (two tables of a paper hold
    the same setting, measured twice) and a row several points (of different batch sizes, say).
    """
    measured = [point for point in points if point.results]
    return tuple(
        PaperMatch(point, paper, table, row, _differences(point, table, row))
        for paper in papers
        for table in paper.tables
        for row in table.rows
        for point in measured
        if _matches(point, table, row)
    )


def _matches(point: Point, table: PaperTable, row: PaperRow) -> bool:
    wanted = {**table.match, **row.match}
    return all(
        name in point.parameters and _same(name, point.parameters[name], value, table)
        for name, value in wanted.items()
    )


def _same(name: str, ours: Value, theirs: Value, table: PaperTable) -> bool:
    if ours == theirs:
        return True
    alike = table.alike.get(name, {})
    return str(ours) in alike and alike[str(ours)] == theirs


def _differences(point: Point, table: PaperTable, row: PaperRow) -> tuple[str, ...]:
    expected = {**table.plain, **table.match, **row.match}
    return tuple(
        f"{title_of(name).lower()} {display_value(name, point.parameters[name])}"
        for name, value in expected.items()
        if name in point.parameters and point.parameters[name] != value
    )
