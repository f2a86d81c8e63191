"""A report as values: sections of tables, charts, notes and listings that a renderer draws.

All text is plain. Each renderer escapes it for its own form, so that a name can never be markup.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Tone(StrEnum):
    """How a thing is to be taken; never said by colour alone."""

    PLAIN = "plain"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"
    MUTED = "muted"


class Align(StrEnum):
    """Where a column's text stands."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    key: str
    title: str
    unit: str = ""
    align: Align = Align.LEFT
    description: str = ""
    wide: bool = False
    """Whether its text may run over several lines."""

    @property
    def heading(self) -> str:
        return f"{self.title} [{self.unit}]" if self.unit else self.title


@dataclass(frozen=True)
class Cell:
    """One value of a table."""

    text: str
    spread: str = ""
    """The standard deviation beside a mean."""
    sort: float | str | None = None
    """The value to sort by; None goes last."""
    tone: Tone = Tone.PLAIN
    tag: bool = False
    """Whether it is a label (valid, invalid, failed, missing) rather than a value."""
    hint: str = ""
    """A sentence for who wants to know more."""


NO_VALUE = Cell(text="—", tone=Tone.MUTED)


@dataclass(frozen=True)
class Table:
    """Rows under typed columns."""

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    """Footnotes."""


@dataclass(frozen=True)
class Note:
    """A sentence that stands by itself."""

    text: str
    tone: Tone = Tone.PLAIN
    title: str = ""


@dataclass(frozen=True)
class Listing:
    """Text to copy, folded away until it is wanted."""

    key: str
    title: str
    text: str
    language: str = "yaml"


class ChartKind(StrEnum):
    """How a chart draws its marks."""

    LINES = "lines"
    BARS = "bars"
    STACKED_BARS = "stackedBars"


@dataclass(frozen=True)
class Axis:
    """What a direction of a chart shows."""

    title: str
    unit: str = ""

    @property
    def heading(self) -> str:
        return f"{self.title} [{self.unit}]" if self.unit else self.title


@dataclass(frozen=True)
class Mark:
    """One drawn value."""

    category: str | int
    """Place on the category axis."""
    value: float
    series: str = ""
    spread: float | None = None
    """Standard deviation, drawn as an error bar."""
    detail: tuple[tuple[str, str], ...] = ()
    """Further lines of the tooltip."""


@dataclass(frozen=True)
class Chart:
    """Marks and what they mean."""

    key: str
    title: str
    kind: ChartKind
    category: Axis
    value: Axis
    marks: tuple[Mark, ...]
    series: str = ""
    """What the colours tell apart."""
    caption: str = ""
    ideal: tuple[tuple[int, float], ...] = ()
    """A line to hold the others against, such as perfect scaling."""


Block = Table | Chart | Note | Listing


@dataclass(frozen=True)
class Section:
    """A part of the report with a heading of its own."""

    key: str
    title: str
    blocks: tuple[Block, ...]
    intro: str = ""


@dataclass(frozen=True)
class Tally:
    """How many runs there are of each verdict; the four add up to the total."""

    total: int
    valid: int
    invalid: int
    failed: int
    missing: int

    @property
    def sentence(self) -> str:
        """Say it in one line."""
        if self.total == 0:
            return "The benchmark has no runs."
        if self.valid == self.total:
            return f"All {self.total} runs are valid." if self.total > 1 else "The run is valid."
        rest = ((self.invalid, "invalid"), (self.failed, "failed"), (self.missing, "missing"))
        parts = [f"{count} {word}" for count, word in rest if count]
        return f"{self.valid} of {self.total} runs are valid; {', '.join(parts)}."


@dataclass(frozen=True)
class Report:
    """The whole of it."""

    title: str
    subtitle: str
    generated_at: datetime
    source: str
    gpubench_version: str
    tally: Tally
    facts: tuple[tuple[str, str], ...]
    """The few things to know first: device, workload, what is constant."""
    warnings: tuple[Note, ...]
    sections: tuple[Section, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return every table in order."""
        return tuple(
            block
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Table)
        )

    def charts(self) -> tuple[Chart, ...]:
        """Return every chart in order."""
        return tuple(
            block
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Chart)
        )
