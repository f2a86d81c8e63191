"""Tables as the page's template wants them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpubench.analysis.report import Align, Cell, Column, Table

# Tables longer than this scroll inside their frame and can be filtered.
LONG_TABLE = 24

# A browser takes seconds for more; the file with one row per run has them all.
MOST_ROWS = 2000


@dataclass(frozen=True)
class HeadView:
    """A column's head and how its cells are set."""

    column: Column
    css: str
    spread_width: int
    """Characters of the widest ± part: all cells leave as much room, so that digits line up."""


@dataclass(frozen=True)
class RowView:
    """A row with the heads of its cells."""

    cells: tuple[tuple[HeadView, Cell], ...]
    starts_group: bool
    """Whether the first column's value changes here, where a faint line helps the eye."""


@dataclass(frozen=True)
class TableView:
    """A table, ready to be written out."""

    table: Table
    heads: tuple[HeadView, ...]
    rows: tuple[RowView, ...]
    is_long: bool
    rows_left_out: int


def sort_key(cell: Cell) -> str | None:
    """Return what the script sorts a cell by, None where that is its text.

    Six digits are enough to order what people compare, and a third of the page's weight.
    """
    if cell.sort is None or cell.sort == cell.text:
        return None
    return cell.sort if isinstance(cell.sort, str) else f"{cell.sort:.6g}"


def table_view(table: Table) -> TableView:
    """Return a table as the template wants it."""
    heads = tuple(_head(table, index) for index in range(len(table.columns)))
    shown = table.rows[:MOST_ROWS]
    firsts = [row[0].text for row in shown]
    grouped = len(set(firsts)) < len(firsts)
    rows = tuple(
        RowView(
            cells=tuple(zip(heads, row, strict=True)),
            starts_group=grouped and number > 0 and firsts[number] != firsts[number - 1],
        )
        for number, row in enumerate(shown)
    )
    return TableView(
        table=table,
        heads=heads,
        rows=rows,
        is_long=len(rows) > LONG_TABLE,
        rows_left_out=len(table.rows) - len(shown),
    )


def _head(table: Table, index: int) -> HeadView:
    column = table.columns[index]
    cells = [row[index] for row in table.rows]
    return HeadView(column=column, css=_css(column), spread_width=_spread_width(cells))


def _css(column: Column) -> str:
    words = []
    if column.align is Align.RIGHT:
        words.append("num")
    if column.wide:
        words.append("wide")
    return " ".join(words)


def _spread_width(cells: Sequence[Cell]) -> int:
    return max((len(cell.spread) for cell in cells), default=0)
