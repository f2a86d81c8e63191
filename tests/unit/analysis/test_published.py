from __future__ import annotations

from typing import Any

import pytest

from gpubench.analysis import build_report
from gpubench.analysis.inputs import ReportRun
from gpubench.analysis.papers.matching import PaperMatch, match_papers
from gpubench.analysis.papers.published import load_papers
from gpubench.analysis.report import Note, Report
from gpubench.analysis.study import build_study
from gpubench.api.result import Timing
from tests.unit.analysis.paper_runs import TABLE_2, TABLE_3
from tests.unit.analysis.reading import has_table, table, texts
from tests.unit.analysis.result_builders import (
    CPU,
    H200,
    distribution,
    image_workload,
    invalid_run,
    llm_workload,
    make_input,
    valid_run,
)


def matches_of(*runs: ReportRun) -> tuple[PaperMatch, ...]:
    return match_papers(build_study(make_input(runs)).points, load_papers())


def notes(report: Report) -> list[str]:
    return [
        block.text for part in report.sections for block in part.blocks if isinstance(block, Note)
    ]


def test_the_data_files_hold_the_papers_tables() -> None:
    (paper,) = load_papers()
    tables = {table.key: table for table in paper.tables}
    assert paper.arxiv == "2503.15252"
    assert [(row.match["gpus"], row.match["precision"]) for row in tables["table2"].rows] == list(
        TABLE_2
    )
    assert [row.value for row in tables["table2"].rows] == [row[1] for row in TABLE_2.values()]
    assert [row.accuracy for row in tables["table2"].rows] == [row[2] for row in TABLE_2.values()]
    assert [row.value for row in tables["table3"].rows] == [row[1] for row in TABLE_3.values()]
    assert [row.accuracy for row in tables["table3"].rows] == [row[2] for row in TABLE_3.values()]
    assert len(tables["table5"].rows) == 8


def test_the_llm_tables_improvements_follow_from_its_totals() -> None:
    """As printed: 0.04 %, 1.57 %, -0.03 % and 3.50 % of the time without pinned memory."""
    (paper,) = load_papers()
    totals = [row.total_seconds for row in paper.tables[2].rows]
    pairs = zip(totals[::2], totals[1::2], strict=True)
    gains = [round((off - on) / off * 100, 2) for off, on in pairs if off and on]
    assert gains == pytest.approx([0.04, 1.57, -0.03, 3.50], abs=0.011)


def test_a_setting_that_the_paper_measured_twice_stands_beside_both() -> None:
    found = matches_of(valid_run(image_workload(), 1, seconds=3721 / 2))
    assert [(match.table.label, match.row.value) for match in found] == [
        ("Table 2", 3721),
        ("Table 3", 3792),
    ]
    ratio = found[0].relative_speed
    assert ratio is not None
    assert ratio.mean == pytest.approx(2.0)


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "resnet50"},
        {"image_size": 224},
        {"epochs": 19},
        {"strategy": "DDP"},
        {"precision": "BF16"},
        {"dataset": {"name": "digits"}},
        {"dataset": {"name": "mnist", "train_images": 1000}},
        {"dataset": {"name": "mnist", "test_images": 1000}},
    ],
    ids=str,
)
def test_any_other_work_matches_nothing(changed: dict[str, Any]) -> None:
    assert matches_of(valid_run(image_workload(**changed), 1)) == ()


def test_only_valid_results_stand_beside_the_paper() -> None:
    assert matches_of(invalid_run(image_workload(), 1)) == ()


def test_a_processor_is_shown_as_another_device_without_a_ratio() -> None:
    report = build_report(make_input([valid_run(image_workload(), 1, device=CPU)]))
    rows = table(report, "lawenda2025-table2")
    assert texts(rows, "device") == [f"CPU: {CPU.name} (another device)"]
    assert "relativeSpeed" not in [column.key for column in rows.columns]
    assert any("orientation only" in note for note in notes(report))


def test_another_gpu_is_marked_and_has_a_ratio() -> None:
    report = build_report(make_input([valid_run(image_workload(), 1, seconds=3721, device=H200)]))
    rows = table(report, "lawenda2025-table2")
    assert texts(rows, "relativeSpeed") == ["100.00"]
    assert texts(rows, "device") == [f"{H200.name} (another device)"]
    assert any("another model" in note for note in notes(report))


def test_what_the_paper_does_not_state_is_stated() -> None:
    rows = table(build_report(make_input([valid_run(image_workload(), 1)])), "lawenda2025-table2")
    text = " ".join(rows.notes)
    for needed in ("batch size", "TF32", "500x500", "arXiv:2503.15252", "H100-94"):
        assert needed in text


def test_tf32_stands_beside_the_papers_fp32_and_says_so() -> None:
    (match, _) = matches_of(valid_run(image_workload(precision="TF32"), 1))
    assert match.row.match["precision"] == "FP32"
    assert match.differences == ("precision TF32",)


def test_faster_ways_are_named_beside_their_number() -> None:
    workload = image_workload(input_pipeline="DeviceResident", compile="Default")
    report = build_report(make_input([valid_run(workload, 1)]))
    assert texts(table(report, "lawenda2025-table2"), "differences") == [
        "compile Default; input pipeline DeviceResident"
    ]


def test_llm_points_are_compared_by_iteration_time() -> None:
    timing = Timing(
        setup_seconds=1,
        training_seconds=77,
        evaluation_seconds=0,
        total_seconds=80,
        steps=200,
        warmup_steps=10,
        iteration=distribution(0.385),
        epoch_estimate_seconds=9956.0,
    )
    run = valid_run(llm_workload(precision="FP32", max_steps=200), 1, timing=timing)
    (match,) = matches_of(run)
    assert match.table.label == "Table 5"
    assert match.relative_speed is not None
    assert match.relative_speed.mean == pytest.approx(2.0)
    report = build_report(make_input([run], workload={"llmTuning": {}}))
    published = table(report, "lawenda2025-table5")
    assert texts(published, "epochOurs") == ["2:45:56"]
    assert texts(published, "epochPaper") == ["5:31:52"]
    assert texts(table(report, "time"), "epochEstimate.clock") == ["2:45:56"]


def test_without_a_match_there_is_no_section() -> None:
    report = build_report(make_input([valid_run(image_workload(image_size=32), 1)]))
    assert not any(key.key == "published" for key in report.sections)
    assert not has_table(report, "lawenda2025-table2")
