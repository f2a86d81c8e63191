"""The training loop: one epoch at a time, one step at a time, the same for all strategies."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer

from gpubench_workloads.image_recognition.loss_watch import LossWatch
from gpubench_workloads.image_recognition.pipelines import InputPipeline
from gpubench_workloads.image_recognition.precision import NumberFormats
from gpubench_workloads.image_recognition.strategies import Strategy
from gpubench_workloads.profiling import ranges
from gpubench_workloads.profiling.recording import Recording
from gpubench_workloads.training.errors import NonFiniteLossError
from gpubench_workloads.training.progress import TrainingProgress
from gpubench_workloads.training.ranks import Ranks
from gpubench_workloads.training.step_clock import StepClock


@dataclass(frozen=True)
class EpochOutcome:
    """What an epoch was, on this rank; its loss is that of all ranks."""

    seconds: float
    """From before its first batch was asked for until the device had done its last step."""
    samples_loaded: int
    samples_trained: int
    loss: float
    """Mean over all images that any rank trained on."""


@dataclass(frozen=True)
class Trainer:
    """All that a step needs."""

    ranks: Ranks
    strategy: Strategy
    pipeline: InputPipeline
    model: Callable[[Tensor], Tensor]
    """As all GPUs train it together."""
    formats: NumberFormats
    optimizer: Optimizer
    scaler: GradScaler
    """Does nothing unless the formats ask for scaled gradients."""
    clock: StepClock[Any]
    """Whose marks are events or numbers, as the device has it."""
    recording: Recording
    """Of its profile, if one is asked for."""
    losses: LossWatch
    progress: TrainingProgress

    def train_epoch(self, epoch: int) -> EpochOutcome:
        """Train one epoch (from 1); no step waits for the device.

        Raises:
            NonFiniteLossError: a loss was not finite.
        """
        started = time.perf_counter()
        self.clock.begin_epoch(epoch)
        self.recording.begin_epoch()
        self.losses.begin_epoch(first_step=(epoch - 1) * self.strategy.steps + 1)
        order = self.strategy.order(epoch - 1, self.pipeline.order_device)
        loaded = 0
        trained: list[int] = []
        batches = self.recording.each(ranges.DATA, self.pipeline.batches(order))
        for number, batch in enumerate(self.clock.waiting(batches)):
            with self.clock.moving(), self.recording.inside(ranges.HOST_TO_DEVICE):
                images, labels = self.pipeline.to_device(batch)
            loaded += len(labels)
            if self.strategy.trains(number):
                self.step(images, labels)
                trained.append(len(labels))
                self.progress.training(self.clock.records, self.losses.latest)
        self.ranks.wait_for_device()
        self.clock.finish_epoch()
        seconds = time.perf_counter() - started
        loss, samples = self.ranks.total(*self.losses.finish_epoch(trained))
        self.progress.training(self.clock.records, self.losses.latest, force=True)
        return EpochOutcome(seconds, loaded, sum(trained), loss / samples)

    def step(self, images: Tensor, labels: Tensor) -> None:
        """Train on images [batch, 3, size, size] with labels [batch]."""
        inside = self.recording.inside
        with inside(ranges.FORWARD):
            loss = self.formats.loss_of(self.model(images), labels)
            self.losses.record(loss)
        with inside(ranges.BACKWARD):
            self.scaler.scale(loss).backward()
        self.clock.computed()
        with inside(ranges.OPTIMIZER):
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
        self.clock.finish_step(
            samples=len(labels),
            profiled=self.recording.is_open,
            disturbed=self.recording.disturbs,
        )
        self.recording.finish_step()


def require_finite_weights(model: nn.Module) -> None:
    """Check what no loss shows any more: that the last step left numbers behind.

    Raises:
        NonFiniteLossError: a weight is not finite.
    """
    for name, weight in model.named_parameters():
        if not bool(torch.isfinite(weight).all()):
            msg = f"weight {name} is not finite after the last step; lower learningRate"
            raise NonFiniteLossError(msg)
