"""NVTX ranges: what a rank was doing, in the words of the training, for whoever profiles it."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nvtx

from gpubench_workloads.profiling.records import PROFILER_LIFE_VARIABLE
from gpubench_workloads.profiling.window_range import WindowRange
from gpubench_workloads.reporting.rank_report import ProfileSource

DOMAIN = "gpubench"
"""Holds all our ranges, so that they are told from those of libraries."""
WINDOW = "window"
"""The range that lasts as long as the profile's window, and opens and closes it."""
EPOCH = "epoch"
STEP = "step"
DATA = "data"
HOST_TO_DEVICE = "host_to_device"
FORWARD = "forward"
BACKWARD = "backward"
OPTIMIZER = "optimizer"


class NvtxProfiler:
    """Names what happens for an nsys around this process, whose recording a range opens."""

    source = ProfileSource.NSYS

    def __init__(self, report: Path) -> None:
        """The nsys around this process writes its report to this path."""
        self._report = report
        self._life = _OtherEnd(int(os.environ[PROFILER_LIFE_VARIABLE]))
        self._window = WindowRange(DOMAIN, WINDOW, self._life.is_closed)
        self._started: dict[str, Any] = {}
        self._answers = True

    @property
    def is_settled(self) -> bool:
        return self._report.exists() or self._life.is_closed()

    def open(self) -> None:
        self._answers = self._window.start()

    def close(self) -> None:
        """Let nsys go on, which writes its report now."""
        if self._answers:
            self._answers = self._window.end()

    def start(self, name: str) -> None:
        if self._answers:
            self._started[name] = nvtx.start_range(name, domain=DOMAIN)

    def end(self, name: str) -> None:
        started = self._started.pop(name, None)
        if started is not None:
            nvtx.end_range(started)

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        if not self._answers:
            yield
            return
        nvtx.push_range(name, domain=DOMAIN)
        try:
            yield
        finally:
            nvtx.pop_range(domain=DOMAIN)

    def save(self) -> None:
        """Leave it to nsys, for which the keeper waits."""


class _OtherEnd:
    """The other end of a pipe."""

    def __init__(self, pipe: int) -> None:
        self._poll = select.poll()
        self._poll.register(pipe, select.POLLHUP)

    def is_closed(self) -> bool:
        """Return whether nobody holds it any more."""
        return bool(self._poll.poll(0))
