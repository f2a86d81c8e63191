"""Columns that several tables share, and tables put together from columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gpubench.analysis.inputs import ReportRun, Verdict
from gpubench.analysis.metrics import Metric, Unit
from gpubench.analysis.numerals import estimate_cells
from gpubench.analysis.parameters import FlatParameters, display_value, sort_key, title_of
from gpubench.analysis.report import NO_VALUE, Align, Cell, Column, Table, Tone
from gpubench.analysis.statistics import Estimate
from gpubench.analysis.study import Point
from gpubench.api.enums import WorkloadKind

# Such as a dataset's path; a column of it would push all others off the page.
LONGEST_ON_ONE_LINE = 40

# The longest name of a run (gpubench.sweep.names) still stands on one line.
LONGEST_NAME = 54

VERDICT_TONES = {
    Verdict.VALID: Tone.GOOD,
    Verdict.INVALID: Tone.WARNING,
    Verdict.FAILED: Tone.BAD,
    Verdict.MISSING: Tone.MUTED,
}


@dataclass(frozen=True)
class FilledColumn:
    """A column with its cells."""

    column: Column
    cells: Sequence[Cell]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read in it, be it nothing at all or zero everywhere."""
        return all(cell == NO_VALUE or cell.sort == 0 for cell in self.cells)


def assemble(key: str, title: str, columns: Sequence[FilledColumn | None]) -> Table:
    """Return the table of these columns; those that are None are left out."""
    present = [column for column in columns if column is not None]
    rows = zip(*(column.cells for column in present), strict=True)
    return Table(
        key=key,
        title=title,
        columns=tuple(column.column for column in present),
        rows=tuple(rows),
    )


def with_words(table: Table, caption: str = "", notes: Sequence[str] = ()) -> Table:
    """Return the table with a caption and footnotes."""
    return replace(table, caption=caption, notes=tuple(note for note in notes if note))


def axis_columns(
    parameters: Sequence[FlatParameters], axes: Sequence[str], *, on_cpu: bool = False
) -> list[FilledColumn]:
    """Return one column for each parameter that varies."""
    return [_axis_column(parameters, axis, on_cpu=on_cpu) for axis in axes]


def _axis_column(parameters: Sequence[FlatParameters], axis: str, *, on_cpu: bool) -> FilledColumn:
    cells = [_parameter_cell(axis, values) for values in parameters]
    column = Column(
        axis,
        title_of(axis, on_cpu=on_cpu),
        align=_alignment(parameters, axis),
        wide=max((len(cell.text) for cell in cells), default=0) > LONGEST_ON_ONE_LINE,
    )
    return FilledColumn(column, cells)


def _alignment(parameters: Sequence[FlatParameters], axis: str) -> Align:
    values = [values[axis] for values in parameters if values.get(axis) is not None]
    numeric = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    return Align.RIGHT if values and numeric else Align.LEFT


def _parameter_cell(axis: str, values: FlatParameters) -> Cell:
    if axis not in values:
        return NO_VALUE
    group, number, word = sort_key(axis, values[axis])
    return Cell(
        text=display_value(axis, values[axis]),
        sort=f"{group} {number:015.3f} {word}" if group else number,
    )


def text_column(
    key: str, title: str, texts: Sequence[str], *, align: Align = Align.LEFT, wide: bool = False
) -> FilledColumn:
    """Return a column of words."""
    cells = [Cell(text=text, sort=text) if text else NO_VALUE for text in texts]
    wide = wide or max((len(text) for text in texts), default=0) > LONGEST_NAME
    return FilledColumn(Column(key, title, align=align, wide=wide), cells)


def count_column(key: str, title: str, counts: Sequence[int]) -> FilledColumn:
    """Return a column of whole numbers."""
    cells = [Cell(text=str(count), sort=count) for count in counts]
    return FilledColumn(Column(key, title, align=Align.RIGHT), cells)


def estimate_column(
    column: Column, estimates: Sequence[Estimate | None], unit: Unit, *, interval: bool = True
) -> FilledColumn | None:
    """Return a column of means, None where not one is known."""
    cells = estimate_cells(estimates, unit, interval=interval)
    filled = FilledColumn(replace(column, align=Align.RIGHT), cells)
    return None if filled.is_empty else filled


def metric_column(
    points: Sequence[Point], metric: Metric, kind: WorkloadKind
) -> FilledColumn | None:
    """Return a quantity of all points, None where none of them has it."""
    return estimate_column(
        metric_heading(metric, kind), [point.estimate(metric) for point in points], metric.unit
    )


def metric_heading(metric: Metric, kind: WorkloadKind) -> Column:
    """Return a quantity's head with its full unit."""
    return Column(
        metric.key, metric.title, unit=unit_text(metric, kind), description=metric.description
    )


def unit_text(metric: Metric, kind: WorkloadKind) -> str:
    """Return a unit as it is written; a rate says of what."""
    if metric.unit is not Unit.PER_SECOND:
        return metric.unit.value
    if metric.key == "tokenRate":
        return "tokens/s"
    return "images/s" if kind is WorkloadKind.IMAGE_RECOGNITION else "sequences/s"


def derived_column(
    column: Column,
    points: Sequence[Point],
    derive: Callable[[Point], Estimate | None],
    unit: Unit,
) -> FilledColumn | None:
    """Return a ratio of all points, None where none of them has it."""
    return estimate_column(column, [derive(point) for point in points], unit, interval=False)


def verdict_cell(run: ReportRun) -> Cell:
    """Return a run's verdict as a label."""
    verdict = run.verdict
    word = run.state.value.lower() if verdict is Verdict.MISSING else verdict.value
    text = "missing" if word == "succeeded" else word
    return Cell(text=text, sort=text, tone=VERDICT_TONES[verdict], tag=True)


def runs_column(points: Sequence[Point]) -> FilledColumn:
    """Return how many of each point's runs are valid, and what the others are."""
    column = Column(
        "runs",
        "Valid runs",
        description="Valid runs of all; numbers come from the valid ones alone.",
    )
    return FilledColumn(column, [_runs_cell(point) for point in points])


def _runs_cell(point: Point) -> Cell:
    counts = Counter(run.verdict for run in point.runs)
    valid, total = counts[Verdict.VALID], len(point.runs)
    others = [f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]]
    worst = next((v for v in (Verdict.FAILED, Verdict.INVALID, Verdict.MISSING) if counts[v]), None)
    return Cell(
        text=f"{valid} of {total}",
        sort=valid / total,
        tone=VERDICT_TONES[worst] if worst else Tone.PLAIN,
        tag=worst is not None,
        hint=", ".join(others) if worst else "",
    )
