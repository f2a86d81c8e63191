"""Tables of a report as a test wants to read them."""

from __future__ import annotations

from gpubench.analysis import ReportInput, build_report
from gpubench.analysis.report import Cell, Report, Table

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


def table(report: Report, key: str) -> Table:
    return next(table for table in report.tables() if table.key == key)


def has_table(report: Report, key: str) -> bool:
    return any(table.key == key for table in report.tables())


def table_of(report_input: ReportInput, key: str) -> Table:
    return table(build_report(report_input), key)


def column(table: Table, key: str) -> list[Cell]:
    place = [column.key for column in table.columns].index(key)
    return [row[place] for row in table.rows]


def texts(table: Table, key: str) -> list[str]:
    """A column as text, the mean alone."""
    return [cell.text.replace(NO_BREAK_SPACE, " ") for cell in column(table, key)]


def by_row(table: Table, keys: tuple[str, ...], value: str) -> dict[tuple[str, ...], Cell]:
    """One column by the texts of others."""
    names = zip(*(texts(table, key) for key in keys), strict=True)
    return dict(zip(names, column(table, value), strict=True))
