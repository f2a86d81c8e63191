"""Ctrl-C and SIGTERM as a question that the runner asks, so that it can stop its children."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequest:
    """Whether this process was asked to stop."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self.requested = False

    def is_requested(self) -> bool:
        """Tell whether somebody asked."""
        return self.requested

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals over while the block runs."""
        previous = {number: signal.signal(number, self._remember) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _remember(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True
