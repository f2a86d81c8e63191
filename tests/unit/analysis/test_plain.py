from __future__ import annotations

import dataclasses

from gpubench.analysis import build_report
from gpubench.analysis.plain import plain_report
from gpubench.analysis.report import Tone
from tests.unit.analysis.paper_runs import table_2_input
from tests.unit.analysis.result_builders import (
    CPU,
    H100,
    failed_run,
    image_workload,
    make_input,
    valid_run,
)


def test_a_terminal_gets_results_and_what_went_wrong() -> None:
    runs = [valid_run(image_workload(), 1), failed_run(image_workload(), 2)]
    plain = plain_report(build_report(make_input(runs)))
    assert plain.sentence == "1 of 2 runs are valid; 1 failed."
    titles = [table.title for table in plain.tables]
    assert titles[:2] == ["Total time and accuracy", "Speed"]
    assert "Failed runs" in titles
    assert "Runs" not in titles
    assert "Provenance" not in titles


def test_rows_are_as_wide_as_their_heads() -> None:
    for table in plain_report(build_report(table_2_input())).tables:
        assert len(table.headings) == len(table.aligns)
        assert all(len(row) == len(table.headings) for row in table.rows)


def test_a_spread_stands_behind_its_mean() -> None:
    runs = [
        valid_run(image_workload(), 1, repetition=number, seconds=seconds)
        for number, seconds in ((1, 100.0), (2, 104.0))
    ]
    time = plain_report(build_report(make_input(runs))).tables[0]
    assert "102 ± 2.8" in [cell.text for cell in time.rows[0]]


def test_tables_of_several_devices_say_which() -> None:
    runs = [
        dataclasses.replace(valid_run(image_workload(), 1, device=device), repetition=number)
        for number, device in ((1, H100), (2, CPU))
    ]
    titles = [table.title for table in plain_report(build_report(make_input(runs))).tables]
    assert f"Total time and accuracy (on {H100.name})" in titles
    assert f"Total time and accuracy (on CPU: {CPU.name})" in titles


def test_tones_are_kept() -> None:
    runs = [
        valid_run(image_workload(), 1),
        failed_run(image_workload(), 1, repetition=2),
    ]
    time = plain_report(build_report(make_input(runs))).tables[0]
    assert Tone.BAD in [cell.tone for cell in time.rows[0]]
