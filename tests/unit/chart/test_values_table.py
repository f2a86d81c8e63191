from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.unit.chart.helm import CHART

PAGE = CHART.parents[1] / "docs" / "install.md"
ROW = re.compile(r"^\| `([\w.]+)` \| `(.+?)` \|", re.MULTILINE)


def leaves(values: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{path}{name}.")
        else:
            yield path + name, value


def test_the_table_has_every_value_with_its_default() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    table = [(key, json.loads(text)) for key, text in ROW.findall(PAGE.read_text("utf-8"))]
    assert table == list(leaves(values))
