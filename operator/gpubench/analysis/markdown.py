"""The report as GitHub's Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from gpubench.analysis.report import (
    Align,
    Cell,
    Chart,
    Column,
    Listing,
    Note,
    Report,
    Section,
    Table,
    Tone,
)

# What means something inside a line of GitHub's Markdown. A bracket only begins a link if another
# one follows it at once, and an underscore inside a word is one, so that units and names stay
# readable.
_SPECIAL = re.compile(
    r"""[\\`*|~$]
    | \](?=[(\[:])
    | (?<![A-Za-z0-9])_ | _(?![A-Za-z0-9])
    """,
    re.VERBOSE,
)

_TONES = {Tone.WARNING: "Warning: ", Tone.BAD: "Problem: "}


def render_markdown(report: Report) -> str:
    """Return the report as one Markdown document; charts are on the HTML page only."""
    lines = [*_head(report)]
    for section in report.sections:
        lines += _section(section)
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\g<0>", html.escape(_on_one_line(text), quote=False))


def _on_one_line(text: str) -> str:
    return " ".join(text.splitlines()).replace("\t", " ")


def _head(report: Report) -> Iterator[str]:
    yield f"# {escape(report.title)}"
    yield ""
    yield f"**{escape(report.tally.sentence)}**"
    yield ""
    made = report.generated_at.strftime("%Y-%m-%d %H:%M:%S UTC")
    yield escape(
        f"{report.subtitle}. Made {made} by gpubench {report.gpubench_version} from {report.source}"
    )
    yield ""
    for warning in report.warnings:
        yield from _note(warning)
    yield "| Parameter | Value |"
    yield "|:--|:--|"
    for name, value in report.facts:
        yield f"| {escape(name)} | {escape(value)} |"
    yield ""


def _section(section: Section) -> Iterator[str]:
    yield f"## {escape(section.title)}"
    yield ""
    if section.intro:
        yield escape(section.intro)
        yield ""
    charts = [block for block in section.blocks if isinstance(block, Chart)]
    if charts:
        yield f"On the HTML page: {escape('; '.join(chart.title for chart in charts))}."
        yield ""
    for block in section.blocks:
        match block:
            case Table():
                yield from _table(block)
            case Note():
                yield from _note(block)
            case Listing():
                yield from _listing(block)
            case Chart():
                pass


def _note(note: Note) -> Iterator[str]:
    title = f"**{escape(note.title)}.** " if note.title else ""
    yield f"> {_TONES.get(note.tone, '')}{title}{escape(note.text)}"
    yield ""


def _table(table: Table) -> Iterator[str]:
    yield f"### {escape(table.title)}"
    yield ""
    if table.caption:
        yield escape(table.caption)
        yield ""
    yield _line(_heading(column) for column in table.columns)
    yield _line("--:" if column.align is Align.RIGHT else ":--" for column in table.columns)
    for row in table.rows:
        yield _line(_cell(cell) for cell in row)
    yield ""
    for note in table.notes:
        yield f"- {escape(note)}"
    if table.notes:
        yield ""


def _line(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _heading(column: Column) -> str:
    return escape(column.heading)


def _cell(cell: Cell) -> str:
    text = escape(f"{cell.text} {cell.spread}".strip())
    return f"**{text}**" if cell.tag or cell.tone is Tone.WARNING else text


def _listing(listing: Listing) -> Iterator[str]:
    longest = max((len(run) for run in re.findall(r"`+", listing.text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield "<details>"
    yield f"<summary>{html.escape(_on_one_line(listing.title))}</summary>"
    yield ""
    yield f"{fence}{listing.language}"
    yield listing.text.rstrip("\n")
    yield fence
    yield ""
    yield "</details>"
    yield ""
