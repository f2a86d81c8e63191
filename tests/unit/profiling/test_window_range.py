"""The window's range, whatever becomes of the profiler that should answer it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from gpubench_workloads.profiling import window_range
from gpubench_workloads.profiling.window_range import WindowRange, find_library


def test_without_a_profiler_it_is_answered_at_once() -> None:
    window = WindowRange("domain", "window", lambda: False)
    assert window.start()
    assert window.end()


@pytest.mark.parametrize("call", [WindowRange.start, WindowRange.end])
def test_a_profiler_that_is_gone_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[WindowRange], bool]
) -> None:
    monkeypatch.setattr(window_range, "GRACE_SECONDS", 0.1)
    forever = threading.Event()
    gone = time.monotonic() + 0.5
    window = WindowRange("domain", "window", lambda: time.monotonic() > gone)
    for function in ("nvtxDomainRangeStartEx", "nvtxDomainRangeEnd"):
        monkeypatch.setattr(window._library, function, lambda *_: forever.wait())
    try:
        assert not call(window)
        assert time.monotonic() > gone, "it was waited for while it lived"
    finally:
        forever.set()


def test_an_answer_that_was_under_way_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_range, "GRACE_SECONDS", 20.0)
    window = WindowRange("domain", "window", lambda: True)
    monkeypatch.setattr(window._library, "nvtxDomainRangeEnd", lambda *_: time.sleep(0.3))
    assert window.end()


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_range, "LIBRARY", ("no-such-package", "libno.so"))
    with pytest.raises(OSError, match="no-such-package is not installed"):
        find_library()
