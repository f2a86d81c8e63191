"""Every reason that a user may meet is explained on the page that is for it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpubench.api.enums import FailureClass, GateName
from gpubench.controller.obstacles import REFUSALS

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
PACKAGE = REPOSITORY / "operator" / "gpubench"
REASON_ARGUMENTS = {"Obstacle": 0, "Rejection": 1, "Judgement": 2}
"""By what is called: which argument is the reason."""
CAMEL_CASE = re.compile(r"[A-Z][a-z]+([A-Z]+[a-z]*)*|[A-Z][A-Za-z]+")


def reasons() -> set[str]:
    """Return the words that the code gives as reasons of a benchmark's conditions."""
    modules = [
        *(PACKAGE / "controller").glob("*.py"),
        PACKAGE / "lifecycle" / "benchmark_status.py",
    ]
    trees = [ast.parse(module.read_text(encoding="utf-8")) for module in modules]
    found = {word for tree in trees for node in ast.walk(tree) for word in _words_of(node)}
    return found | {reason for reason, _ in REFUSALS.values()}


def _words_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        position = REASON_ARGUMENTS.get(node.func.id)
        if position is not None and len(node.args) > position:
            yield from _constants(node.args[position])
    elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "reason":
        yield from _constants(node.value)
    elif isinstance(node, ast.FunctionDef) and node.name == "_progressing_reason":
        for child in ast.walk(node):
            if isinstance(child, ast.Return) and child.value is not None:
                yield from _constants(child.value)


def _constants(expression: ast.AST) -> Iterator[str]:
    for node in ast.walk(expression):
        word = node.value if isinstance(node, ast.Constant) else None
        if isinstance(word, str) and CAMEL_CASE.fullmatch(word):
            yield word


REASONS = sorted(reasons())


def test_the_reasons_are_found() -> None:
    expected = {"ImageNotAllowed", "InvalidSweep", "JobForbidden", "NoPod", "QuotaExceeded"}
    expected |= {"FailureBudgetSpent", "NothingInTheWay", "RunsInProgress", "QueueMissing"}
    assert expected <= set(REASONS)


@pytest.mark.parametrize("word", [*REASONS, *FailureClass, *GateName])
def test_each_is_on_the_page(word: str) -> None:
    assert f"`{word}`" in PAGE
