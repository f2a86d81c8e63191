"""Where a rank's training is, told by the first rank for all."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpubench.api.progress import AttemptProgress, Stage
from gpubench_workloads.reporting.progress_writer import ProgressWriter
from gpubench_workloads.training.step_clock import StepRecord


class TrainingProgress:
    """Publishes stage, epoch, step, speed and loss, when that is due."""

    def __init__(self, writer: ProgressWriter) -> None:
        """Publish through `writer`."""
        self._writer = writer
        self._ranks = 1
        self._current = AttemptProgress(stage=Stage.STARTING)
        self._counted_records = 0
        self._counted_at = time.monotonic()

    def stage(self, stage: Stage) -> None:
        """Publish the begin of a stage."""
        self._publish(self._current.model_copy(update={"stage": stage}), force=True)

    def plan(self, epochs: int, steps: int, ranks: int) -> None:
        """Note how much there is to do in all, and how many ranks do it at the same speed."""
        self._ranks = ranks
        self._current = self._current.model_copy(update={"epochs": epochs, "steps": steps})

    def begin_epoch(self, epoch: int) -> None:
        """Publish the begin of an epoch (from 1)."""
        self._counted_at = time.monotonic()
        update = {"stage": Stage.TRAINING, "epoch": epoch}
        self._publish(self._current.model_copy(update=update), force=True)

    def training(
        self, records: Sequence[StepRecord], loss: float | None, *, force: bool = False
    ) -> None:
        """Publish how far training is: `records` are its finished steps."""
        if not (force or self._writer.due):
            return
        update: dict[str, float | None] = {"step": len(records), "loss": loss}
        new = records[self._counted_records :]
        # At the end of an epoch there may be no step since the last look: the speed stays told.
        if new:
            now = time.monotonic()
            seconds = now - self._counted_at
            update["samples_per_second"] = sum(r.samples for r in new) * self._ranks / seconds
            update["iteration_seconds"] = seconds / len(new)
            self._counted_records, self._counted_at = len(records), now
        self._publish(self._current.model_copy(update=update), force=force)

    def _publish(self, progress: AttemptProgress, *, force: bool) -> None:
        self._current = progress
        self._writer.write(progress, force=force)
