"""Watching the ranks: deadlines, and the wish of others that they stop."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from gpubench.api.enums import FailureClass
from gpubench.api.layout import PROGRESS_FILE
from gpubench.api.progress import AttemptProgress
from gpubench.api.run_spec import Limits
from gpubench_workloads.supervisor.launch import RankProcesses

POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Interruption:
    """Why the supervisor itself ended the ranks."""

    failure_class: FailureClass
    message: str


class StopRequest:
    """Remembers the first signal that asked this process to stop."""

    def __init__(self) -> None:
        """Take over SIGTERM and SIGINT."""
        self.signal: signal.Signals | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._remember)

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        self.signal = self.signal or signal.Signals(number)


class ProgressWatch:
    """Knows since when nothing has moved."""

    def __init__(self, progress_path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Watch the progress file of an attempt, which need not be there yet."""
        self._path = progress_path
        self._clock = clock
        self._last: tuple[str, int, int] | None = None
        self._moved_at = clock()

    def seconds_without_progress(self) -> float:
        """Return how long ago the stage, epoch or step last changed."""
        current = self._read()
        if current is not None and current != self._last:
            self._last, self._moved_at = current, self._clock()
        return self._clock() - self._moved_at

    def _read(self) -> tuple[str, int, int] | None:
        try:
            progress = AttemptProgress.model_validate_json(self._path.read_bytes())
        except (OSError, ValueError):
            return None
        return progress.stage, progress.epoch, progress.step


def watch(
    ranks: RankProcesses,
    limits: Limits,
    attempt_folder: Path,
    stop_request: StopRequest,
    grace_seconds: float,
    started_at: float,
) -> Interruption | None:
    """Wait until the ranks end; end them at a deadline or when asked to stop.

    `started_at` is the attempt's start on the monotonic clock. Returns why they were ended, None
    if they ended by themselves.
    """
    progress = ProgressWatch(attempt_folder / PROGRESS_FILE)
    while ranks.wait(POLL_SECONDS) is None:
        interruption = _interruption(
            stop_request, limits, time.monotonic() - started_at, progress.seconds_without_progress()
        )
        if interruption is not None:
            ranks.stop(grace_seconds)
            return interruption
    return None


def _interruption(
    stop_request: StopRequest, limits: Limits, elapsed: float, still: float
) -> Interruption | None:
    if stop_request.signal is not None:
        return Interruption(FailureClass.PREEMPTED, f"stopped by {stop_request.signal.name}")
    if elapsed > limits.timeout_seconds:
        message = f"not finished after timeoutSeconds: {limits.timeout_seconds}"
        return Interruption(FailureClass.TIMEOUT, message)
    if still > limits.no_progress_seconds:
        message = f"no step finished for noProgressSeconds: {limits.no_progress_seconds}"
        return Interruption(FailureClass.NO_PROGRESS, message)
    return None
