"""Our tables, fed with the paper's times, have to print the paper's percentages."""

from __future__ import annotations

import math

import pytest

from gpubench.analysis import build_report
from tests.unit.analysis.paper_runs import TABLE_2, TABLE_3, table_2_input, table_3_input
from tests.unit.analysis.reading import by_row, table_of, texts

# The one percentage that contradicts the other sixteen of table 2 (see paper_runs): what follows
# from those, and what is printed.
CONTRADICTED = {(1, "FP16"): ("252.96", 252.93)}


@pytest.fixture(scope="module")
def table_2() -> dict[str, dict[tuple[str, ...], str]]:
    table = table_of(table_2_input(), "time")
    wanted = ("totalTime", "accuracy", "comparedTo.gpus", "comparedTo.precision")
    return {
        key: {name: cell.text for name, cell in by_row(table, ("gpus", "precision"), key).items()}
        for key in wanted
    }


@pytest.mark.parametrize(("point", "row"), TABLE_2.items())
def test_table_2_comes_out_as_printed(
    point: tuple[int, str],
    row: tuple[float, int, float, float, float | None],
    table_2: dict[str, dict[tuple[str, ...], str]],
) -> None:
    name = (str(point[0]), point[1])
    _, seconds, accuracy, to_one_gpu, to_fp64 = row
    assert table_2["totalTime"][name] == f"{seconds:,}".replace(",", "\N{NO-BREAK SPACE}")
    assert table_2["accuracy"][name] == f"{accuracy:.2f}"
    assert table_2["comparedTo.gpus"][name] == f"{to_one_gpu:.2f}"
    if point in CONTRADICTED:
        ours, printed = CONTRADICTED[point]
        assert table_2["comparedTo.precision"][name] == ours
        assert printed == to_fp64
    else:
        expected = "—" if to_fp64 is None else f"{to_fp64:.2f}"
        assert table_2["comparedTo.precision"][name] == expected


def test_table_3_comes_out_to_the_printed_digit() -> None:
    table = table_of(table_3_input(), "time")
    to_one = by_row(table, ("gpus", "pinMemory"), "comparedTo.gpus")
    to_off = by_row(table, ("gpus", "pinMemory"), "comparedTo.pinMemory")
    times = by_row(table, ("gpus", "pinMemory"), "totalTime")
    accuracies = by_row(table, ("gpus", "pinMemory"), "accuracy")
    for (gpus, pinned), (_, seconds, accuracy, one, off) in TABLE_3.items():
        name = (str(gpus), "on" if pinned else "off")
        assert to_one[name].text == f"{one:.2f}"
        assert to_off[name].text == ("—" if off is None else f"{off:.2f}")
        assert accuracies[name].text == f"{accuracy:.2f}"
        # The paper cut its seconds, so the whole part is what it printed.
        value = times[name].sort
        assert isinstance(value, float)
        assert math.floor(value) == seconds


def test_heads_and_units_are_the_papers() -> None:
    table = table_of(table_2_input(), "time")
    headings = [column.heading for column in table.columns]
    assert headings == [
        "GPUs",
        "Precision",
        "Valid runs",
        "Total time [s]",
        "h:mm:ss",
        "Accuracy [%]",
        "Compared to 1 GPU [%]",
        "Compared to FP64 [%]",
    ]
    assert any("Efficiency compare to 1 GPU" in note for note in table.notes)


def test_long_times_are_written_as_clocks_too() -> None:
    assert texts(table_of(table_2_input(), "time"), "totalTime.clock")[0] == "1:44:26"


def test_parallel_efficiency_is_speed_up_over_gpus() -> None:
    table = table_of(table_2_input(), "speed")
    name = ("4", "FP64")
    speed_up = by_row(table, ("gpus", "precision"), "speedUp")[name].sort
    efficiency = by_row(table, ("gpus", "precision"), "parallelEfficiency")[name].sort
    assert speed_up == pytest.approx(3.2348, abs=0.0001)
    assert efficiency == pytest.approx(323.48 / 4, abs=0.01)


def test_the_paper_stands_beside_itself_at_100_percent() -> None:
    report = build_report(table_2_input())
    table = next(table for table in report.tables() if table.key == "lawenda2025-table2")
    assert len(table.rows) == 12
    ratios = [cell.sort for cell in by_row(table, ("gpus", "precision"), "relativeSpeed").values()]
    assert ratios == pytest.approx([100.0] * 12, abs=0.02)
