"""Compact results as pods hand them over."""

from __future__ import annotations

from gpubench.api.compact import CompactResult, compact_result
from gpubench.api.enums import FailureClass
from gpubench.api.run_spec import RunSpec
from tests.unit.results import failed, run_spec, succeeded

DIGEST = "0" * 64


def good_result(spec: RunSpec | None = None, *, accuracy: float = 0.97) -> CompactResult:
    """Return what an attempt that trained to its end hands over."""
    return compact_result(succeeded(spec or run_spec(), accuracy=accuracy), DIGEST)


def bad_result(
    spec: RunSpec | None = None, failure: FailureClass = FailureClass.CRASH
) -> CompactResult:
    """Return what an attempt that failed hands over."""
    return compact_result(failed(spec or run_spec(), failure), DIGEST)
