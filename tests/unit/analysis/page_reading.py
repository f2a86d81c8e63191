"""A report's page as a browser's parser sees it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = frozenset({"meta", "link", "img", "br", "hr", "input"})


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """The elements of a page, and whether each that opens closes."""

    elements: list[Element] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        closed = self.open.pop()
        assert closed.tag == tag, f"<{closed.tag}> is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.elements if element.tag in tags]

    @property
    def tags(self) -> Counter[str]:
        return Counter(element.tag for element in self.elements)

    @property
    def policy(self) -> dict[str, list[str]]:
        """The content security policy by directive."""
        (meta,) = [
            element
            for element in self.all("meta")
            if element.attributes.get("http-equiv") == "Content-Security-Policy"
        ]
        words = [part.split() for part in meta.attributes["content"].split(";")]
        return {name: sources for name, *sources in words}

    @property
    def scripts(self) -> list[str]:
        """The scripts that a browser would execute."""
        return [each.text for each in self.all("script") if "type" not in each.attributes]

    @property
    def chart_data(self) -> dict[str, Any]:
        (data,) = [each for each in self.all("script") if each.attributes.get("id") == "chart-data"]
        content: dict[str, Any] = json.loads(data.text)
        return content


def read_page(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


def policy_hash(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
