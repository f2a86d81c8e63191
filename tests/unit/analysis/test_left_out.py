"""Nothing is left out silently: every run is counted once, and what has no number has a reason."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gpubench.analysis import ReportInput, Verdict, build_report
from gpubench.analysis.inputs import ReportRun
from gpubench.analysis.report import Note, Tone
from gpubench.api.enums import FailureClass, RunPhase
from gpubench.api.result import Failure
from tests.unit.analysis.reading import column, has_table, table, table_of, texts
from tests.unit.analysis.result_builders import (
    CPU,
    H100,
    failed_run,
    image_workload,
    invalid_run,
    make_failure,
    make_input,
    make_result,
    make_run,
    missing_run,
    valid_run,
)

MAKERS = {
    Verdict.VALID: valid_run,
    Verdict.INVALID: invalid_run,
    Verdict.FAILED: failed_run,
    Verdict.MISSING: missing_run,
}
DRAWN = st.lists(
    st.tuples(st.sampled_from(list(Verdict)), st.integers(min_value=1, max_value=4)), max_size=20
)


def mixed_input(drawn: list[tuple[Verdict, int]]) -> ReportInput:
    return make_input(
        MAKERS[verdict](image_workload(), gpus, repetition=number)
        for number, (verdict, gpus) in enumerate(drawn, start=1)
    )


@given(DRAWN)
@settings(deadline=None)
def test_the_four_counts_add_up(drawn: list[tuple[Verdict, int]]) -> None:
    tally = build_report(mixed_input(drawn)).tally
    assert tally.total == len(drawn)
    assert tally.valid + tally.invalid + tally.failed + tally.missing == tally.total
    assert tally.valid == sum(verdict is Verdict.VALID for verdict, _ in drawn)


@given(DRAWN)
@settings(deadline=None)
def test_every_run_that_is_not_valid_is_named_with_its_reason(
    drawn: list[tuple[Verdict, int]],
) -> None:
    report_input = mixed_input(drawn)
    report = build_report(report_input)
    for verdict in (Verdict.INVALID, Verdict.FAILED, Verdict.MISSING):
        expected = [run.name for run in report_input.runs if run.verdict is verdict]
        named = texts(table(report, verdict.value), "run") if expected else []
        assert named == expected
        assert has_table(report, verdict.value) is bool(expected)


@given(DRAWN)
@settings(deadline=None)
def test_every_run_stands_in_the_table_of_runs(drawn: list[tuple[Verdict, int]]) -> None:
    report_input = mixed_input(drawn)
    report = build_report(report_input)
    names = texts(table(report, "runs"), "run") if drawn else []
    assert names == [run.name for run in report_input.runs]


def test_the_sentence_counts_what_is_wrong() -> None:
    verdicts = [Verdict.VALID] * 3 + [Verdict.INVALID, Verdict.MISSING]
    sentence = build_report(mixed_input([(verdict, 1) for verdict in verdicts])).tally.sentence
    assert sentence == "3 of 5 runs are valid; 1 invalid, 1 missing."


def test_an_invalid_run_names_the_gate_and_what_was_found() -> None:
    invalid = table_of(make_input([invalid_run(image_workload(), 2)]), "invalid")
    assert texts(invalid, "gate") == ["Clocks"]
    assert texts(invalid, "found") == ["SM clock fell to 40 % of its base"]


def test_a_result_without_a_judgement_is_named_too() -> None:
    run = make_run(image_workload(), 1, make_result(image_workload(), 1, validity=None))
    invalid = table_of(make_input([run]), "invalid")
    assert "no judgement" in texts(invalid, "found")[0]


def test_a_failed_run_has_class_and_message() -> None:
    run = failed_run(image_workload(), 2, message="ran out of memory")
    failed = table_of(make_input([run]), "failed")
    assert texts(failed, "class") == ["OutOfMemory"]
    assert texts(failed, "message") == ["ran out of memory (rank 0, exit code 1)"]


def test_a_run_given_up_without_a_result_has_its_reason() -> None:
    lost = Failure(failure_class=FailureClass.NODE_LOST, message="node-3 went away")
    run = make_run(image_workload(), 1, state=RunPhase.FAILED, given_up=lost)
    failed = table_of(make_input([run]), "failed")
    assert (texts(failed, "class"), texts(failed, "message")) == (
        ["NodeLost"],
        ["node-3 went away"],
    )


def test_a_failed_run_of_which_nothing_is_known_says_so() -> None:
    run = make_run(image_workload(), 1, state=RunPhase.FAILED)
    failed = table_of(make_input([run]), "failed")
    assert texts(failed, "class") == ["unknown"]
    assert texts(failed, "message") == ["no attempt left a result"]


def test_attempts_that_left_nothing_are_counted_too() -> None:
    run = replace(make_run(image_workload(), 1, state=RunPhase.FAILED), attempts_made=3)
    assert texts(table_of(make_input([run]), "failed"), "attempts") == ["3"]
    assert texts(table_of(make_input([failed_run(image_workload(), 1)]), "failed"), "attempts") == [
        "1"
    ]


def test_retried_attempts_are_listed() -> None:
    workload = image_workload()
    killed = make_failure(
        workload, 1, message="killed by signal 9", failure_class=FailureClass.KILLED
    )
    run = make_run(workload, 1, killed, make_result(workload, 1, attempt=2))
    retried = table_of(make_input([run]), "retried")
    assert texts(retried, "attempt") == ["1"]
    assert texts(retried, "class") == ["Killed"]
    assert texts(retried, "now") == ["valid"]


def test_the_last_attempt_of_a_failed_run_is_told_once() -> None:
    workload = image_workload()
    first = make_failure(workload, 1, message="first", attempt=1)
    last = make_failure(workload, 1, message="last", attempt=2)
    report = build_report(make_input([make_run(workload, 1, first, last, state=RunPhase.FAILED)]))
    assert texts(table(report, "failed"), "message") == ["last (rank 0, exit code 1)"]
    assert texts(table(report, "retried"), "message") == ["first (rank 0, exit code 1)"]


def test_numbers_of_an_invalid_run_are_shown_grey_and_averaged_nowhere() -> None:
    runs = [
        valid_run(image_workload(), 1, seconds=100.0),
        invalid_run(image_workload(), 1, repetition=2, seconds=7.0),
    ]
    report = build_report(make_input(runs))
    times = column(table(report, "runs"), "totalTime")
    assert [cell.sort for cell in times] == [100.0, 7.0]
    assert [cell.tone for cell in times] == [Tone.PLAIN, Tone.MUTED]
    assert texts(table(report, "time"), "totalTime") == ["100"]
    assert texts(table(report, "time"), "runs") == ["1 of 2"]


def test_an_empty_folder_makes_a_report_that_says_so() -> None:
    report = build_report(make_input([]))
    assert report.tally.sentence == "The benchmark has no runs."
    notes = [block for part in report.sections for block in part.blocks if isinstance(block, Note)]
    assert any("no runs yet" in note.text for note in notes)


def test_without_a_valid_result_there_are_no_numbers() -> None:
    report = build_report(make_input([invalid_run(image_workload(), 1)]))
    assert not has_table(report, "time")
    assert report.charts() == ()


def test_several_devices_are_separated_and_announced() -> None:
    runs = [
        valid_run(image_workload(), gpus, repetition=number, device=device)
        for number, device in ((1, H100), (2, CPU))
        for gpus in (1, 2)
    ]
    report = build_report(make_input(runs))
    titles = [section.title for section in report.sections]
    assert titles[:2] == [f"Results on {H100.name}", f"Results on CPU: {CPU.name}"]
    assert any(warning.title == "Several devices" for warning in report.warnings)
    assert len(texts(table(report, "time-1"), "gpus")) == 2


def runs_of(software: list[dict[str, str]]) -> list[ReportRun]:
    from tests.unit.analysis.result_builders import make_provenance

    return [
        valid_run(
            image_workload(),
            1,
            repetition=number,
            provenance=make_provenance(software=versions),
        )
        for number, versions in enumerate(software, start=1)
    ]


def test_two_versions_of_torch_are_a_warning() -> None:
    report = build_report(make_input(runs_of([{"torch": "2.11.0"}, {"torch": "2.10.0"}])))
    (warning,) = report.warnings
    assert warning.text.startswith("Software, torch: 2.10.0 (1 run), 2.11.0 (1 run).")
    values = dict(
        zip(
            texts(table(report, "provenance"), "value"),
            column(table(report, "provenance"), "value"),
            strict=True,
        )
    )
    assert values["2.10.0"].tone is Tone.WARNING


def test_equal_versions_are_no_warning() -> None:
    report = build_report(make_input(runs_of([{"torch": "2.11.0"}] * 3)))
    assert report.warnings == ()
