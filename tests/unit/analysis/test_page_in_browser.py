"""The page in a real browser: charts appear, nothing is asked of a network, tables sort.

The page's policy refuses every request and says so on the console, so that a clean console means
that nothing was asked for.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpubench.analysis import ReportInput, build_report
from gpubench.analysis.page import render_page
from tests.unit.analysis.paper_runs import table_2_input
from tests.unit.analysis.result_builders import (
    failed_run,
    hostile_input,
    image_workload,
    large_input,
    make_input,
    make_result,
    make_run,
    valid_run,
    with_everything,
)

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None and os.environ.get("CI") != "true", reason="no Chromium on this machine"
)

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # The browser's own services are not to be asked either.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--virtual-time-budget=10000",
    "--enable-logging=stderr",
)


@dataclass(frozen=True)
class Opened:
    """A page after its scripts ran."""

    document: str
    console: list[str]

    @property
    def charts(self) -> str | None:
        found = re.search(r'<html[^>]* data-charts="([^"]*)"', self.document)
        return found[1] if found else None


def open_page(text: str, folder: Path) -> Opened:
    assert CHROMIUM is not None
    file = folder / "report.html"
    file.write_text(text, encoding="utf-8")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom"]
    done = subprocess.run(
        [*command, file.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return Opened(done.stdout, re.findall(r"CONSOLE.*", done.stderr))


def full_input() -> ReportInput:
    workload = image_workload()
    runs = [
        make_run(workload, gpus, with_everything(make_result(workload, gpus))) for gpus in (1, 2)
    ]
    return make_input(runs)


@pytest.mark.parametrize(
    "report_input",
    [table_2_input(), full_input(), hostile_input(), large_input(), make_input([])],
    ids=["paper", "full", "hostile", "large", "empty"],
)
def test_every_chart_is_drawn_and_nothing_is_asked_for(
    report_input: ReportInput, tmp_path: Path
) -> None:
    report = build_report(report_input)
    opened = open_page(render_page(report), tmp_path)
    assert opened.console == []
    charts = len(report.charts())
    assert opened.charts == ("drawn" if charts else None)
    assert len(re.findall(r'<svg[^>]*class="marks"', opened.document)) == charts


def test_a_request_would_be_seen(tmp_path: Path) -> None:
    text = render_page(build_report(make_input([])))
    text = text.replace("<main", '<img src="https://example.com/x.png"><main')
    assert any("Content Security Policy" in line for line in open_page(text, tmp_path).console)


def test_a_foreign_script_would_not_run(tmp_path: Path) -> None:
    text = render_page(build_report(make_input([])))
    text = text.replace("</main>", "<script>document.title = 'taken over'</script></main>")
    assert "taken over</title>" not in open_page(text, tmp_path).document


def with_script(text: str, script: str) -> str:
    """The page with a script of this test, which is not among those that its policy knows."""
    allowed = re.sub(r"script-src [^;]*;", "script-src 'unsafe-inline';", text)
    # The last one: the bundle has a string with the same tag in it.
    before, _, after = allowed.rpartition("</body>")
    return f"{before}<script>{script}</script></body>{after}"


WIDTHS = """
const root = document.documentElement;
const told = () => parent.postMessage(`${root.scrollWidth} of ${root.clientWidth}`, "*");
setTimeout(told, 4000);
"""

NARROW = """<!doctype html><p id="told">nothing</p>
<script>addEventListener("message", (event) => { told.textContent = event.data; });</script>
<iframe src="inner.html" style="width: 390px; height: 3000px; border: 0"></iframe>"""


@pytest.mark.parametrize(
    "report_input",
    [full_input(), hostile_input(), large_input(200)],
    ids=["full", "hostile", "large"],
)
def test_a_narrow_screen_does_not_scroll_sideways(
    report_input: ReportInput, tmp_path: Path
) -> None:
    inner = with_script(render_page(build_report(report_input)), WIDTHS)
    (tmp_path / "inner.html").write_text(inner, encoding="utf-8")
    assert '<p id="told">390 of 390</p>' in open_page(NARROW, tmp_path).document


CLICKS = """
const read = (row) => row.cells[COLUMN].textContent.trim();
const shown = (table) => Array.from(table.tBodies[0].rows).map(read);
const table = document.querySelector("#table-time table");
const head = table.tHead.rows[0].cells[COLUMN];
const record = [];
for (let click = 0; click < 3; click += 1) {
  head.querySelector("button").click();
  record.push(head.getAttribute("aria-sort") + ": " + shown(table).join(" "));
}
document.title = record.join("; ");
"""


def sorted_titles(report_input: ReportInput, column: str, folder: Path) -> list[str]:
    """What a column shows after one, two and three clicks on its head."""
    report = build_report(report_input)
    keys = [each.key for each in report.tables()[0].columns]
    clicks = CLICKS.replace("COLUMN", str(keys.index(column)))
    text = with_script(render_page(report), clicks)
    title = re.search(r"<title>(.*?)</title>", open_page(text, folder).document)
    assert title is not None
    return title[1].replace("&nbsp;", "").split("; ")


def test_numbers_sort_as_numbers_with_missing_ones_last(tmp_path: Path) -> None:
    runs = [
        valid_run(image_workload(), 1, seconds=1000.0),
        failed_run(image_workload(), 2),
        valid_run(image_workload(), 3, seconds=999.0),
    ]
    assert sorted_titles(make_input(runs), "totalTime", tmp_path) == [
        "ascending: 999 1000 —",
        "descending: 1000 999 —",
        "none: 1000 — 999",
    ]


def test_words_sort_in_the_order_of_the_spec(tmp_path: Path) -> None:
    runs = [
        valid_run(image_workload(precision=precision), 1) for precision in ("FP16", "FP64", "BF16")
    ]
    assert sorted_titles(make_input(runs), "precision", tmp_path)[1] == (
        "descending: FP16 BF16 FP64"
    )
