from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token

from gpubench.analysis import build_report
from gpubench.analysis.markdown import escape, render_markdown
from tests.unit.analysis.paper_runs import table_2_input
from tests.unit.analysis.result_builders import HOSTILE, hostile_input, make_input

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def inline_tokens(text: str) -> list[Token]:
    return [child for token in PARSER.parse(text) for child in token.children or []]


def shown(text: str) -> str:
    return "".join(token.content for token in inline_tokens(text))


def test_tables_come_out_as_tables() -> None:
    text = render_markdown(build_report(table_2_input()))
    tokens = PARSER.parse(text)
    rows = [token for token in tokens if token.type == "tr_open"]
    heads = [token for token in tokens if token.type == "th_open"]
    cells = [token for token in tokens if token.type == "td_open"]
    assert len(rows) > 60
    assert len(heads) > 20
    assert len(cells) > 300
    # A line that is no row of its table would stand as a paragraph with bars in it.
    paragraphs = [token.content for token in tokens if token.type == "inline" and token.level == 1]
    assert not [content for content in paragraphs if content.startswith("|")]


def test_the_papers_row_reads_as_in_the_paper() -> None:
    text = render_markdown(build_report(table_2_input())).replace("\N{NO-BREAK SPACE}", " ")
    assert "| 2 | FP64 | 1 of 1 | 3 339 | 0:55:39 | 99.20 | 187.66 | — |" in text
    assert "| GPUs | Precision | Valid runs | Total time [s] |" in text


def test_names_of_others_stay_text() -> None:
    text = render_markdown(build_report(hostile_input()))
    types = {token.type for token in inline_tokens(text)}
    assert types.isdisjoint({"html_inline", "link_open", "image", "em_open", "code_inline"})
    html = [token.content for token in PARSER.parse(text) if token.type == "html_block"]
    assert all(
        line.startswith(("<details>", "</details>", "<summary>"))
        for block in html
        for line in block.splitlines()
    )
    assert "<script" not in "".join(html)


def test_escaped_text_shows_as_it_was() -> None:
    for text in (HOSTILE, "mobilenet_v2", "_x_ **y** `z`", "a | b", "[s] [x](y) [x][y]", r"c:\d"):
        expected = " ".join(text.splitlines())
        assert shown(f"before {escape(text)} after") == f"before {expected} after"


def test_plain_names_stay_readable() -> None:
    assert escape("mobilenet_v2 [s] (n - 1)") == "mobilenet_v2 [s] (n - 1)"


def test_listings_survive_fences_inside() -> None:
    from gpubench.analysis.markdown import _listing
    from gpubench.analysis.report import Listing

    text = "a: |\n````\n```\n"
    lines = "\n".join(_listing(Listing("key", "A file", text)))
    (fence,) = [token for token in PARSER.parse(lines) if token.type == "fence"]
    assert fence.content == text


def test_an_empty_folder_makes_a_document() -> None:
    text = render_markdown(build_report(make_input([])))
    assert text.startswith("# mobilenet-sweep\n\n**The benchmark has no runs.**\n")
