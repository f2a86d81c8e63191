"""Provenance: software, hardware, dataset, and the differences between runs."""

from __future__ import annotations

from gpubench.analysis.columns import FilledColumn, assemble, text_column, with_words
from gpubench.analysis.provenance import Origin, origins
from gpubench.analysis.report import Align, Cell, Column, Note, Section, Tone
from gpubench.analysis.study import Study

# A cluster's run can touch hundreds of GPUs; the flat file has every one of them.
MOST_VALUES = 8


def provenance_section(study: Study) -> Section | None:
    """Return what produced the numbers, None where no run has a result."""
    known = origins(study.input.runs)
    if not known:
        return None
    total = sum(1 for run in study.input.runs if run.result)
    lines = [line for origin in known for line in _lines(origin, total)]
    table = assemble(
        "provenance",
        "Provenance",
        [
            text_column("group", "Part", [group for group, _, _, _ in lines]),
            text_column("name", "What", [name for _, name, _, _ in lines]),
            FilledColumn(Column("value", "Value", wide=True), [value for _, _, value, _ in lines]),
            FilledColumn(Column("runs", "Runs", align=Align.RIGHT), [runs for *_, runs in lines]),
        ],
    )
    caption = "As the runs themselves recorded it; invalid results included."
    return Section("provenance", "Provenance", (with_words(table, caption),))


def _lines(origin: Origin, total: int) -> list[tuple[str, str, Cell, Cell]]:
    lines = [
        (origin.group, origin.name, _value_cell(origin, value), _count_cell(runs, total))
        for value, runs in origin.values[:MOST_VALUES]
    ]
    more = len(origin.values) - MOST_VALUES
    if more > 0:
        rest = Cell(text=f"and {more} more values", tone=Tone.MUTED)
        lines.append((origin.group, origin.name, rest, Cell(text="")))
    return lines


def _value_cell(origin: Origin, value: str) -> Cell:
    if not origin.is_mixed:
        return Cell(text=value or "unknown", sort=value)
    return Cell(text=value, sort=value, tone=Tone.WARNING, hint="differs between runs")


def _count_cell(runs: tuple[str, ...], total: int) -> Cell:
    return Cell(text=f"{len(runs)} of {total}", sort=len(runs), hint=_names(runs))


def _names(runs: tuple[str, ...]) -> str:
    shown = ", ".join(runs[:5])
    return shown if len(runs) <= 5 else f"{shown} and {len(runs) - 5} more"


def mixture_warnings(study: Study) -> list[Note]:
    """Return one warning for each thing that should be the same for all runs and is not."""
    return [
        Note(
            f"{origin.group}, {origin.name}: {_values(origin)}. "
            "Numbers of such runs may differ for that reason alone.",
            Tone.WARNING,
            title="Runs were not made alike",
        )
        for origin in origins(study.input.runs)
        if origin.is_mixed
    ]


def _values(origin: Origin) -> str:
    parts = [
        f"{value or 'unknown'} ({len(runs)} run{'s' if len(runs) > 1 else ''})"
        for value, runs in origin.values[:4]
    ]
    more = [f"{len(origin.values) - 4} more"] if len(origin.values) > 4 else []
    return ", ".join(parts + more)
