"""What may not be used and what is not there: invalid, failed and missing runs, and retries."""

from __future__ import annotations

from collections.abc import Sequence

from gpubench.analysis.columns import (
    FilledColumn,
    assemble,
    axis_columns,
    count_column,
    text_column,
    verdict_cell,
    with_words,
)
from gpubench.analysis.inputs import ReportRun, Verdict
from gpubench.analysis.parameters import flat_parameters
from gpubench.analysis.report import Column, Note, Section, Table, Tone
from gpubench.analysis.study import Study
from gpubench.api.result import Failure, RunResult


def problems_section(study: Study) -> Section | None:
    """Return what stands between the runs and a complete set of valid results."""
    tables = [
        table
        for table in (_invalid(study), _failed(study), _missing(study), _retried(study))
        if table
    ]
    title = "Runs left out"
    if not study.input.runs:
        return None
    if not tables:
        text = "Every run has a valid result of its first attempt."
        return Section("problems", title, (Note(text, Tone.GOOD),))
    return Section("problems", title, tuple(tables))


def _of(study: Study, verdict: Verdict) -> list[ReportRun]:
    return [run for run in study.input.runs if run.verdict is verdict]


def run_columns(study: Study, runs: Sequence[ReportRun]) -> list[FilledColumn]:
    """Return the columns that say which run a row is about."""
    return [
        text_column("run", "Run", [run.name for run in runs]),
        *axis_columns(
            [flat_parameters(run.workload, run.gpus) for run in runs],
            study.axes,
            on_cpu=study.is_on_cpu,
        ),
        count_column("repetition", "Repetition", [run.repetition for run in runs]),
    ]


def _invalid(study: Study) -> Table | None:
    found = [(run, *reason) for run in _of(study, Verdict.INVALID) for reason in _reasons(run)]
    if not found:
        return None
    table = assemble(
        "invalid",
        "Invalid results",
        [
            *run_columns(study, [run for run, _, _ in found]),
            text_column("gate", "Gate that failed", [gate for _, gate, _ in found]),
            text_column("found", "What was found", [message for _, _, message in found], wide=True),
        ],
    )
    return with_words(
        table, caption="Trained to the end, but a check failed: in no mean, never a baseline."
    )


def _reasons(run: ReportRun) -> list[tuple[str, str]]:
    """Return the gates that failed with their messages; at least one line for every run."""
    validity = run.result.validity if run.result else None
    gates = validity.failed_gates if validity else []
    if not gates:
        return [("none", "the result carries no judgement, so it may not be used")]
    return [(gate.name.value, gate.message) for gate in gates]


def _failed(study: Study) -> Table | None:
    runs = _of(study, Verdict.FAILED)
    if not runs:
        return None
    table = assemble(
        "failed",
        "Failed runs",
        [
            *run_columns(study, runs),
            count_column("attempts", "Attempts", [run.attempt_count for run in runs]),
            *_failure_columns([run.failure for run in runs]),
        ],
    )
    return with_words(table, caption="Given up; the last failure of each.")


def _failure_columns(failures: Sequence[Failure | None]) -> list[FilledColumn]:
    return [
        text_column("class", "Class", [_class_text(failure) for failure in failures]),
        text_column(
            "message", "Message", [_message_text(failure) for failure in failures], wide=True
        ),
    ]


def _class_text(failure: Failure | None) -> str:
    return failure.failure_class.value if failure else "unknown"


def _message_text(failure: Failure | None) -> str:
    if failure is None:
        return "no attempt left a result"
    origin = [
        f"{word} {value}"
        for word, value in (("rank", failure.rank), ("exit code", failure.exit_code))
        if value is not None
    ]
    return f"{failure.message} ({', '.join(origin)})" if origin else failure.message


def _missing(study: Study) -> Table | None:
    runs = _of(study, Verdict.MISSING)
    if not runs:
        return None
    states = FilledColumn(Column("state", "State"), [verdict_cell(run) for run in runs])
    columns = [*run_columns(study, runs), states]
    if any(run.failure for run in runs):
        columns += _failure_columns([run.failure for run in runs])
    table = assemble("missing", "Runs without a result", columns)
    return with_words(table, caption="Not finished; running the same file again resumes them.")


def _retried(study: Study) -> Table | None:
    found = [(run, attempt) for run in study.input.runs for attempt in _earlier_attempts(run)]
    if not found:
        return None
    runs = [run for run, _ in found]
    table = assemble(
        "retried",
        "Retried attempts",
        [
            *run_columns(study, runs),
            count_column("attempt", "Attempt", [each.identity.attempt for _, each in found]),
            *_failure_columns([each.failure for _, each in found]),
            FilledColumn(Column("now", "Run is now"), [verdict_cell(run) for run in runs]),
        ],
    )
    return with_words(table, caption="Failed attempts of runs that were tried again.")


def _earlier_attempts(run: ReportRun) -> list[RunResult]:
    """Return the failed attempts; the last one of a failed run stands among the failed runs."""
    failed = [attempt for attempt in run.attempts if attempt.failure]
    is_last_told = run.verdict is Verdict.FAILED and run.given_up is None
    return failed[:-1] if is_last_told else failed
