"""Measurement: what is seen of a recipe's training from outside, on one rank."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.optim import Optimizer

from gpubench_workloads.llm_tuning.batches import BatchCounts, count_batch, move_batch
from gpubench_workloads.profiling import ranges
from gpubench_workloads.profiling.recording import NOTHING, Recording, Surroundings
from gpubench_workloads.training.errors import BadSpecError, NonFiniteLossError
from gpubench_workloads.training.progress import TrainingProgress
from gpubench_workloads.training.step_clock import StepClock

IGNORED_LABEL = -100
"""torch's and torchtune's label of tokens that the loss leaves out."""
UNKNOWN = Surroundings(0, 0, wait_for_device=lambda: None, wait_for_ranks=lambda _: None)
"""Of a training before its recipe has been set up."""


@dataclass
class Measurement:
    """Clock, counts and losses of a rank's training.

    An epoch begins when the recipe starts to iterate over its loader and ends when it leaves that
    loop; a step ends when the optimizer has made it. What comes between an epoch's end and the
    next one's begin, or the training's end, is its checkpoint.
    """

    device: torch.device
    clock: StepClock[Any]
    progress: TrainingProgress
    recording: Recording = field(default_factory=lambda: Recording(None, None, UNKNOWN))
    """Of the profile, if one is asked for; known once the recipe is set up."""
    steps: list[BatchCounts] = field(default_factory=list)
    """The counts of each step."""
    losses: list[float] = field(default_factory=list)
    """The loss of each step over all ranks; only the first rank is told."""
    epoch_seconds: list[float] = field(default_factory=list)
    checkpoint_seconds: float = 0.0
    first_step_at: float | None = None
    """Seconds since 1970."""
    loaded_sequences: int = 0
    _pending: BatchCounts = field(default_factory=BatchCounts)
    _epoch_ended: float | None = None
    _update: AbstractContextManager[None] = NOTHING

    def watch_optimizer(self, optimizer: Optimizer) -> None:
        """Take each step of the optimizer for the end of a step."""
        optimizer.register_step_pre_hook(lambda *_: self._begin_update())
        optimizer.register_step_post_hook(lambda *_: self._finish_step())

    def batches(self, loader: Any, padding_id: int) -> Iterator[Any]:
        """Yield the batches of an epoch, counted and on the device."""
        started = self._begin_epoch()
        try:
            batches = self.recording.each(ranges.DATA, iter(loader))
            for batch in self.clock.waiting(batches):
                counts = count_batch(batch, padding_id, IGNORED_LABEL)
                with self.clock.moving(), self.recording.inside(ranges.HOST_TO_DEVICE):
                    moved = move_batch(batch, self.device)
                self._pending.add(counts)
                self.loaded_sequences += counts.sequences
                yield moved
        finally:
            # The recipe has left its loop: at the loader's end, or by a break.
            self._end_epoch(started)

    def record_loss(self, payload: Mapping[str, Any], step: int) -> None:
        """Keep the loss of a step (from 1), which the recipe has brought to the host.

        Raises:
            NonFiniteLossError: it is not finite.
            BadSpecError: nor could it be, as no token of the step counts for it.
        """
        loss = float(payload["loss"])
        if not math.isfinite(loss) and self.steps[-1].learned == 0:
            msg = (
                f"no token of step {step} counts for the loss: sequenceLength cuts off the answers "
                "of all its samples; raise sequenceLength or batchSize"
            )
            raise BadSpecError(msg)
        if not math.isfinite(loss):
            msg = f"training loss is {loss} at step {step}; lower learningRate, or use FP32"
            raise NonFiniteLossError(msg)
        self.losses.append(loss)
        self.progress.training(self.clock.records, loss)

    def finish(self) -> None:
        """Note that the recipe has trained to its end."""
        self._end_checkpoint()

    def _begin_update(self) -> None:
        self.clock.computed()
        self._update = self.recording.inside(ranges.OPTIMIZER)
        self._update.__enter__()

    def _finish_step(self) -> None:
        self._update.__exit__(None, None, None)
        self.steps.append(self._pending)
        self.clock.finish_step(
            samples=self._pending.sequences,
            profiled=self.recording.is_open,
            disturbed=self.recording.disturbs,
        )
        self._pending = BatchCounts()
        self.recording.finish_step()

    def _begin_epoch(self) -> float:
        self._end_checkpoint()
        if self.first_step_at is None:
            self.first_step_at = time.time()
        epoch = len(self.epoch_seconds) + 1
        self.progress.begin_epoch(epoch)
        self.clock.begin_epoch(epoch)
        self.recording.begin_epoch()
        return time.perf_counter()

    def _end_epoch(self, started: float) -> None:
        if sys.exception() is not None and not isinstance(sys.exception(), GeneratorExit):
            return
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        self.clock.finish_epoch()
        self._pending = BatchCounts()
        self._epoch_ended = time.perf_counter()
        self.epoch_seconds.append(self._epoch_ended - started)

    def _end_checkpoint(self) -> None:
        if self._epoch_ended is not None:
            self.checkpoint_seconds += time.perf_counter() - self._epoch_ended
            self._epoch_ended = None
