"""The report on the terminal and as files."""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.table import Table
from rich.text import Text

from gpubench.analysis.build import build_report
from gpubench.analysis.plain import PlainTable, plain_report
from gpubench.analysis.report import Align, Tone
from gpubench.store import write_atomically

if TYPE_CHECKING:
    from rich.console import Console

    from gpubench.analysis.inputs import ReportInput

TONE_STYLES = {
    Tone.PLAIN: "",
    Tone.GOOD: "green",
    Tone.WARNING: "yellow",
    Tone.BAD: "red",
    Tone.MUTED: "dim",
}


class ReportFormat(StrEnum):
    """The forms that a report is written in."""

    HTML = "html"
    MARKDOWN = "markdown"
    CSV = "csv"
    PARQUET = "parquet"


REPORT_FILES = {
    ReportFormat.HTML: "report.html",
    ReportFormat.MARKDOWN: "report.md",
    ReportFormat.CSV: "runs.csv",
    ReportFormat.PARQUET: "runs.parquet",
}


def print_report(report_input: ReportInput, console: Console) -> None:
    """Print what a person at a terminal asks for: the tables, and what went wrong."""
    plain = plain_report(build_report(report_input))
    console.print(Text(plain.sentence, style="bold"))
    for warning in plain.warnings:
        title = f"{warning.title}: " if warning.title else ""
        console.print(Text(f"{title}{warning.text}", style=TONE_STYLES[warning.tone]))
    for table in plain.tables:
        console.print(_rich_table(table))
        for note in table.notes:
            console.print(Text(note, style="dim"))


def write_report_files(
    report_input: ReportInput, folder: Path, formats: Collection[ReportFormat] = tuple(ReportFormat)
) -> dict[ReportFormat, Path]:
    """Write the report in the given forms into a folder; return the paths.

    Raises:
        OSError: the folder cannot be written.
    """
    written: dict[ReportFormat, Path] = {}
    for chosen in formats:
        path = folder / REPORT_FILES[chosen]
        content = RENDERERS[chosen](report_input)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            write_atomically(path, content)
        written[chosen] = path
    return written


def _html(report_input: ReportInput) -> str:
    from gpubench.analysis.page import render_page

    return render_page(build_report(report_input))


def _markdown(report_input: ReportInput) -> str:
    from gpubench.analysis.markdown import render_markdown

    return render_markdown(build_report(report_input))


def _csv(report_input: ReportInput) -> str:
    from gpubench.analysis.frame import run_frame, to_csv

    return to_csv(run_frame(report_input))


def _parquet(report_input: ReportInput) -> bytes:
    from gpubench.analysis.frame import run_frame, to_parquet

    return to_parquet(run_frame(report_input))


RENDERERS: dict[ReportFormat, Callable[[ReportInput], str | bytes]] = {
    ReportFormat.HTML: _html,
    ReportFormat.MARKDOWN: _markdown,
    ReportFormat.CSV: _csv,
    ReportFormat.PARQUET: _parquet,
}


def _rich_table(plain: PlainTable) -> Table:
    table = Table(
        title=plain.title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1),
    )
    for heading, align in zip(plain.headings, plain.aligns, strict=True):
        # A heading breaks between words and never within one, or it could not be read.
        longest_word = max(len(word) for word in heading.split())
        justify: Literal["left", "right"] = "right" if align is Align.RIGHT else "left"
        table.add_column(Text(heading), justify=justify, min_width=longest_word)
    for row in plain.rows:
        table.add_row(*(Text(cell.text, style=TONE_STYLES[cell.tone]) for cell in row))
    return table
