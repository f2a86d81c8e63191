from __future__ import annotations

import re

import pytest

from gpubench.analysis import ReportInput, build_report
from gpubench.analysis.drawing import draw
from gpubench.analysis.page import render_page
from gpubench.analysis.page.views import MOST_ROWS, table_view
from gpubench.analysis.report import Cell, Column, Table
from tests.unit.analysis.page_reading import Page, policy_hash, read_page
from tests.unit.analysis.paper_runs import table_2_input
from tests.unit.analysis.result_builders import (
    HOSTILE,
    hostile_input,
    image_workload,
    large_input,
    make_input,
    valid_run,
)

# A page is mailed and kept; nobody should have to wait for it.
LARGEST_PAGE_BYTES = 3 * 2**20

INPUTS = {
    "paper": table_2_input(),
    "hostile": hostile_input(),
    "empty": make_input([]),
    "one": make_input([valid_run(image_workload(), 1)]),
}


@pytest.fixture(scope="module", params=INPUTS)
def page(request: pytest.FixtureRequest) -> Page:
    return read_page(render_page(build_report(INPUTS[request.param])))


def test_it_refers_to_nothing_outside(page: Page) -> None:
    for element in page.elements:
        for name in ("src", "href", "data", "action", "poster", "srcset", "formaction"):
            assert element.attributes.get(name, "#").startswith("#"), element
    assert page.tags["link"] == page.tags["iframe"] == page.tags["img"] == 0
    (style,) = page.all("style")
    assert "url(" not in style.text
    assert "@import" not in style.text


def test_its_policy_forbids_every_request_and_every_other_script(page: Page) -> None:
    assert page.policy["default-src"] == ["'none'"]
    assert page.policy["script-src"] == [policy_hash(script) for script in page.scripts]
    assert page.policy["img-src"] == ["data:", "blob:"]
    assert page.policy["form-action"] == ["'none'"]


def test_identifiers_are_unique_and_links_lead_somewhere(page: Page) -> None:
    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    for link in page.all("a"):
        assert link.attributes["href"].removeprefix("#") in ids


def test_it_has_one_main_heading_and_a_language(page: Page) -> None:
    assert [element.text for element in page.all("h1")] == ["mobilenet-sweep"]
    (root,) = page.all("html")
    assert root.attributes["lang"] == "en"


def test_it_serves_narrow_screens_and_dark_rooms(page: Page) -> None:
    metas = {
        each.attributes.get("name"): each.attributes.get("content") for each in page.all("meta")
    }
    assert metas["viewport"] == "width=device-width, initial-scale=1"
    (style,) = page.all("style")
    assert "@media (prefers-color-scheme: dark)" in style.text
    assert "@media (max-width: 560px)" in style.text
    assert "tabular-nums" in style.text


def test_charts_are_inside() -> None:
    report = build_report(table_2_input())
    page = read_page(render_page(report))
    assert page.chart_data == {chart.key: draw(chart) for chart in report.charts()}
    drawn = [
        each.attributes["data-chart"] for each in page.elements if "data-chart" in each.attributes
    ]
    assert drawn == [chart.key for chart in report.charts()]
    assert len(page.scripts) == 2


def test_a_page_without_charts_carries_no_bundle() -> None:
    text = render_page(build_report(make_input([])))
    assert len(text) < 50_000
    assert len(read_page(text).scripts) == 1


def test_every_table_has_as_many_cells_as_heads() -> None:
    text = render_page(build_report(table_2_input()))
    for table in re.findall(r"<table.*?</table>", text, flags=re.DOTALL):
        heads = table.count("<th ")
        for row in re.findall(r"<tr.*?</tr>", table, flags=re.DOTALL)[1:]:
            assert row.count("<td") == heads


def test_names_of_others_are_text_and_never_markup() -> None:
    harmless = read_page(render_page(build_report(make_input([valid_run(image_workload(), 1)]))))
    page = read_page(render_page(build_report(hostile_input())))
    assert set(page.tags) <= set(harmless.tags) | {"strong", "b", "ul", "li", "details", "summary"}
    assert page.tags["script"] == harmless.tags["script"]
    for element in page.elements:
        assert not [name for name in element.attributes if name.startswith("on")]
    shown = [element.text for element in page.all("td", "dd", "code")]
    assert any(HOSTILE in text for text in shown)
    assert "49" not in next(text for text in shown if "7*7" in text)


def test_a_thousand_runs_make_a_page_that_opens() -> None:
    text = render_page(build_report(large_input()))
    assert len(text.encode()) < LARGEST_PAGE_BYTES
    page = read_page(text)
    assert page.tags["tr"] > 1000
    assert len(page.chart_data) <= 24


def test_rows_beyond_what_a_browser_takes_are_counted() -> None:
    cells = tuple((Cell(text=str(number)),) for number in range(MOST_ROWS + 7))
    view = table_view(Table("many", "Many", (Column("number", "Number"),), cells))
    assert (len(view.rows), view.rows_left_out) == (MOST_ROWS, 7)


def test_the_tally_is_prominent() -> None:
    page = read_page(render_page(build_report(hostile_input())))
    (sentence,) = [each for each in page.all("p") if each.attributes.get("class") == "sentence"]
    assert sentence.text == "4 of 6 runs are valid; 1 invalid, 1 failed."


def test_a_renderer_does_not_change_what_it_renders() -> None:
    report_input: ReportInput = table_2_input()
    report = build_report(report_input)
    assert render_page(report) == render_page(report)
    assert build_report(report_input) == report
