"""Durations as kubectl writes them."""

from __future__ import annotations

import pytest

from gpubench.cli.times import short_duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0s"), (0.4, "0s"), (59, "59s"), (60, "1m"), (200, "3m20s"), (3600, "1h"),
     (7500, "2h5m"), (86_400, "1d"), (200_000, "2d7h")],
)  # fmt: skip
def test_two_largest_units(seconds: float, words: str) -> None:
    assert short_duration(seconds) == words
