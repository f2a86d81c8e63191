"""The rank's side of progress: one small file, replaced about once a second."""

from __future__ import annotations

import time
from pathlib import Path

from gpubench.api.layout import PROGRESS_FILE
from gpubench.api.progress import AttemptProgress
from gpubench_workloads.reporting.atomic_file import write_atomically

PERIOD_SECONDS = 0.5


class ProgressWriter:
    """Writes progress for rank 0, at most twice a second, so that steps do not wait for it."""

    def __init__(self, attempt_folder: Path, *, enabled: bool) -> None:
        """Write below `attempt_folder`; a rank other than 0 passes `enabled=False`."""
        self._path = attempt_folder / PROGRESS_FILE
        self._enabled = enabled
        self._next_write = 0.0

    @property
    def due(self) -> bool:
        """Whether the next `write` would write, so that a caller gathers numbers only then."""
        return self._enabled and time.monotonic() >= self._next_write

    def write(self, progress: AttemptProgress, *, force: bool = False) -> None:
        """Publish where the attempt is, unless that was done a moment ago."""
        if not self._enabled or not (force or self.due):
            return
        stamped = progress.model_copy(update={"time": time.time()})
        text = stamped.model_dump_json(by_alias=True, exclude_none=True)
        write_atomically(self._path, text, durable=False)
        self._next_write = time.monotonic() + PERIOD_SECONDS
