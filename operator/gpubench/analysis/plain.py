"""The report for a terminal: what fits a screen, as rows of text that any table widget can draw."""

from __future__ import annotations

from dataclasses import dataclass

from gpubench.analysis.report import Align, Cell, Note, Report, Table, Tone

# What a person at a terminal asks for; pages have the rest.
_SHOWN = ("time", "speed", "lawenda2025", "invalid", "failed", "missing")


@dataclass(frozen=True)
class PlainCell:
    """Text and how it is to be taken."""

    text: str
    tone: Tone


@dataclass(frozen=True)
class PlainTable:
    """A table with nothing but text in it."""

    title: str
    headings: tuple[str, ...]
    aligns: tuple[Align, ...]
    rows: tuple[tuple[PlainCell, ...], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PlainReport:
    """What a terminal shows, from top to bottom."""

    title: str
    sentence: str
    """How many runs are valid, invalid, failed and missing."""
    facts: tuple[tuple[str, str], ...]
    warnings: tuple[Note, ...]
    tables: tuple[PlainTable, ...]


def plain_report(report: Report) -> PlainReport:
    """Return the parts of a report that belong on a terminal.

    A device's or paper's own tables are known by the beginning of their key.
    """
    shown = [table for table in report.tables() if table.key.split("-")[0] in _SHOWN]
    return PlainReport(
        title=report.title,
        sentence=report.tally.sentence,
        facts=report.facts,
        warnings=report.warnings,
        tables=tuple(_plain_table(report, table) for table in shown),
    )


def _plain_table(report: Report, table: Table) -> PlainTable:
    section = next(part for part in report.sections if table in part.blocks)
    is_of_device = section.title.startswith("Results on ")
    title = (
        f"{table.title} ({section.title.removeprefix('Results ')})" if is_of_device else table.title
    )
    return PlainTable(
        title=title,
        headings=tuple(column.heading for column in table.columns),
        aligns=tuple(column.align for column in table.columns),
        rows=tuple(tuple(_plain_cell(cell) for cell in row) for row in table.rows),
        notes=table.notes,
    )


def _plain_cell(cell: Cell) -> PlainCell:
    return PlainCell(f"{cell.text} {cell.spread}".strip(), cell.tone)
