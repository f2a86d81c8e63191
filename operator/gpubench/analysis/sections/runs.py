"""Every single run, so that nothing is known by its mean alone."""

from __future__ import annotations

from collections.abc import Sequence

from gpubench.analysis.columns import (
    FilledColumn,
    assemble,
    count_column,
    metric_heading,
    text_column,
    verdict_cell,
    with_words,
)
from gpubench.analysis.inputs import ReportRun, Verdict
from gpubench.analysis.metrics import (
    ACCURACY,
    FINAL_LOSS,
    ITERATION,
    THROUGHPUT,
    TOTAL_TIME,
    Metric,
)
from gpubench.analysis.numerals import number_cells
from gpubench.analysis.report import Align, Cell, Column, Section, Tone
from gpubench.analysis.sections.problems import run_columns
from gpubench.analysis.study import Study


def runs_section(study: Study) -> Section | None:
    """Return the table of all runs, None where there are none."""
    runs = study.input.runs
    if not runs:
        return None
    results = [run.result for run in runs if run.result]
    has_accuracy = any(ACCURACY.read(result) is not None for result in results)
    quality = ACCURACY if has_accuracy else FINAL_LOSS
    metrics = [TOTAL_TIME, quality, THROUGHPUT, ITERATION]
    table = assemble(
        "runs",
        "Runs",
        [
            *run_columns(study, runs),
            FilledColumn(Column("verdict", "Verdict"), [verdict_cell(run) for run in runs]),
            count_column("attempts", "Attempts", [run.attempt_count for run in runs]),
            *(_metric_column(study, runs, metric) for metric in metrics),
            _device_column(study, runs),
            text_column("started", "Started (UTC)", [_started(run) for run in runs]),
        ],
    )
    notes = []
    if any(run.verdict is Verdict.INVALID for run in runs):
        notes = ["Numbers of invalid runs are shown in grey; no mean contains them."]
    return Section("runs", "Every run", (with_words(table, notes=notes),))


def _metric_column(study: Study, runs: Sequence[ReportRun], metric: Metric) -> FilledColumn | None:
    values = [metric.read(run.result) if run.result else None for run in runs]
    if all(value is None for value in values):
        return None
    heading = metric_heading(metric, study.input.benchmark.spec.workload.kind)
    cells = number_cells(values, metric.unit)
    column = Column(heading.key, heading.title, heading.unit, Align.RIGHT, heading.description)
    return FilledColumn(column, [_greyed(cell, run) for cell, run in zip(cells, runs, strict=True)])


def _greyed(cell: Cell, run: ReportRun) -> Cell:
    if run.verdict is not Verdict.INVALID:
        return cell
    return Cell(text=cell.text, sort=cell.sort, tone=Tone.MUTED, hint="from an invalid run")


def _device_column(study: Study, runs: Sequence[ReportRun]) -> FilledColumn | None:
    if len(study.devices) < 2:
        return None
    return text_column("device", "Device", [run.device.name if run.device else "" for run in runs])


def _started(run: ReportRun) -> str:
    latest = run.result or (run.attempts[-1] if run.attempts else None)
    return latest.provenance.started_at[:16].replace("T", " ") if latest else ""
