"""Our results beside the numbers of published papers."""

from __future__ import annotations

from collections.abc import Sequence

from gpubench.analysis.columns import (
    FilledColumn,
    assemble,
    axis_columns,
    estimate_column,
    metric_heading,
    text_column,
    with_words,
)
from gpubench.analysis.metrics import ACCURACY, EPOCH_ESTIMATE, Unit
from gpubench.analysis.numerals import format_clock, number_cells
from gpubench.analysis.papers.matching import PaperMatch, match_papers
from gpubench.analysis.papers.published import Paper, PaperTable, load_papers
from gpubench.analysis.report import Align, Block, Column, Note, Section, Table, Tone
from gpubench.analysis.statistics import scale
from gpubench.analysis.study import Study


def published_section(study: Study) -> Section | None:
    """Return the comparison with papers, None where no point repeats a published row."""
    matches = match_papers(study.points, load_papers())
    if not matches:
        return None
    blocks: list[Block] = []
    for paper in load_papers():
        of_paper = [match for match in matches if match.paper == paper]
        if of_paper:
            blocks += [*_tables(study, paper, of_paper), *_device_notes(paper, of_paper)]
    return Section("published", "Published numbers", tuple(blocks), intro=_INTRO)


_INTRO = (
    "Points that have the parameters of a published row stand beside it. “Speed against paper” is "
    "the paper's time over ours: above 100 %, ours is faster."
)


def _tables(study: Study, paper: Paper, matches: Sequence[PaperMatch]) -> list[Table]:
    """Return one table for each of the paper's; what holds for several is said under the first."""
    tables = []
    said: set[str] = set()
    for table in paper.tables:
        of_table = [match for match in matches if match.table == table]
        if of_table:
            notes = [note for note in table.not_stated if note not in said]
            repeated = (
                "The notes above hold here too." if len(notes) < len(table.not_stated) else ""
            )
            tables.append(_table(study, table, of_table, [*notes, repeated]))
            said.update(notes)
    return tables


def _table(
    study: Study, table: PaperTable, matches: Sequence[PaperMatch], notes: Sequence[str]
) -> Table:
    paper = matches[0].paper
    metric = table.measured
    heading = metric_heading(metric, study.input.benchmark.spec.workload.kind)
    axes = _told_apart_by(study, matches)
    rows = assemble(
        f"{paper.key}-{table.key}",
        f"{paper.name}, {table.label}",
        [
            *axis_columns(
                [match.point.parameters for match in matches], axes, on_cpu=study.is_on_cpu
            ),
            estimate_column(
                Column("ours", f"{metric.title}, ours", heading.unit),
                [match.point.estimate(metric) for match in matches],
                metric.unit,
            ),
            FilledColumn(
                Column("paper", f"{metric.title}, paper", heading.unit, align=Align.RIGHT),
                number_cells([match.row.value for match in matches], metric.unit),
            ),
            _ratio_column(matches),
            *_epoch_columns(matches),
            *_accuracy_columns(matches),
            text_column("device", "Our device", [_device_text(match) for match in matches]),
            _differences_column(matches),
        ],
    )
    source = f"Source: {paper.citation} {table.label}: {table.caption}. Hardware: {paper.hardware}."
    return with_words(rows, caption=table.caption, notes=[source, *notes])


def _told_apart_by(study: Study, matches: Sequence[PaperMatch]) -> list[str]:
    """Return the parameters of the table's rows, and those in which points of a row differ."""
    varying = [
        axis
        for axis in study.axes
        if len({match.point.parameters.get(axis) for match in matches}) > 1
    ]
    return list(dict.fromkeys([*matches[0].row.match, *varying]))


def _ratio_column(matches: Sequence[PaperMatch]) -> FilledColumn | None:
    ratios = [match.relative_speed for match in matches]
    column = Column(
        "relativeSpeed", "Speed against paper", "%", description="Paper's time over ours."
    )
    percents = [scale(ratio, 100) if ratio else None for ratio in ratios]
    return estimate_column(column, percents, Unit.PERCENT, interval=False)


def _accuracy_columns(matches: Sequence[PaperMatch]) -> list[FilledColumn | None]:
    if all(match.row.accuracy is None for match in matches):
        return []
    return [
        estimate_column(
            Column("accuracyOurs", "Accuracy, ours", "%"),
            [match.point.estimate(ACCURACY) for match in matches],
            Unit.PERCENT,
        ),
        FilledColumn(
            Column("accuracyPaper", "Accuracy, paper", "%", align=Align.RIGHT),
            number_cells([match.row.accuracy for match in matches], Unit.PERCENT),
        ),
    ]


def _epoch_columns(matches: Sequence[PaperMatch]) -> list[FilledColumn | None]:
    """Return the time of a whole epoch where the paper gives that beside its iterations."""
    if all(match.row.total_seconds is None for match in matches):
        return []
    ours = [match.point.estimate(EPOCH_ESTIMATE) for match in matches]
    theirs = [match.row.total_seconds for match in matches]
    return [
        text_column(
            "epochOurs",
            "Whole epoch, ours",
            [format_clock(each.mean) if each else "" for each in ours],
            align=Align.RIGHT,
        ),
        text_column(
            "epochPaper",
            "Whole epoch, paper",
            [format_clock(each) if each else "" for each in theirs],
            align=Align.RIGHT,
        ),
    ]


def _device_text(match: PaperMatch) -> str:
    device = match.point.device
    name = device.label if device else "unknown"
    return f"{name} (another device)" if match.is_other_device else name


def _differences_column(matches: Sequence[PaperMatch]) -> FilledColumn | None:
    if not any(match.differences for match in matches):
        return None
    texts = ["; ".join(match.differences) for match in matches]
    return text_column("differences", "Differs in", texts, wide=True)


def _device_notes(paper: Paper, matches: Sequence[PaperMatch]) -> list[Note]:
    notes = []
    if any(not match.is_comparable for match in matches):
        notes.append(
            Note(
                f"Numbers measured on a CPU stand beside the paper's for orientation only: the "
                f"paper used {paper.hardware}. No ratio is given across kinds of device.",
                Tone.WARNING,
                title="Another kind of device",
            )
        )
    elif any(match.is_other_device for match in matches):
        notes.append(
            Note(
                f"The paper used {paper.hardware}; rows marked “another device” ran on another "
                "model, so their ratio tells about the hardware too.",
                Tone.WARNING,
                title="Another model of GPU",
            )
        )
    return notes
