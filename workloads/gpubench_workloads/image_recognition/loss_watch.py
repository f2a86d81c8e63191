"""LossWatch: the losses of an epoch, and an alarm when one is not a number."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from gpubench_workloads.training.errors import NonFiniteLossError

STEPS_PER_COPY = 16
"""Steps whose losses a GPU sends to the host at once, so that hardly any step sends anything."""


class LossCopy(Protocol):
    """Brings values from the device to the host without making the host wait."""

    def start(self, values: Tensor) -> None:
        """Send values, which must not change until they have landed."""

    def landed(self) -> Tensor | None:
        """Return the values last sent, on the host; None while they are on their way."""


class ImmediateCopy:
    """On a CPU values are where they should be."""

    def __init__(self) -> None:
        self._values = torch.empty(0)

    def start(self, values: Tensor) -> None:
        self._values = values

    def landed(self) -> Tensor | None:
        return self._values


class PinnedCopy:
    """From a GPU into page-locked memory, with an event that tells when it is done."""

    def __init__(self, largest: int) -> None:
        self._buffer = torch.empty(largest, dtype=torch.float64, pin_memory=True)
        self._done = torch.cuda.Event()
        self._count = 0

    def start(self, values: Tensor) -> None:
        self._count = len(values)
        self._buffer[: self._count].copy_(values, non_blocking=True)
        self._done.record()

    def landed(self) -> Tensor | None:
        return self._buffer[: self._count] if self._done.query() else None


class LossWatch:
    """Keeps the loss of every step on the device, and looks at it some steps later.

    A loss that is not finite is an error at the latest when its epoch ends; on a GPU usually some
    tens of steps after it happened, on a CPU at once.
    """

    def __init__(self, steps: int, device: torch.device, copy: LossCopy | None = None) -> None:
        """Watch epochs of `steps` steps each."""
        on_gpu = device.type == "cuda"
        self._losses = torch.zeros(steps, dtype=torch.float64, device=device)
        self._steps_per_copy = STEPS_PER_COPY if on_gpu else 1
        self._copy: LossCopy = copy or (PinnedCopy(steps) if on_gpu else ImmediateCopy())
        self._first_step = 1
        self._recorded = 0
        self._sent = 0
        self._checked = 0
        self.latest: float | None = None
        """The last loss that was looked at."""

    def begin_epoch(self, first_step: int) -> None:
        """Start an epoch whose first step has this number (from 1, counted on over epochs)."""
        self._first_step = first_step
        self._recorded = self._sent = self._checked = 0

    def record(self, loss: Tensor) -> None:
        """Keep a step's loss (a scalar) and look at those that have reached the host.

        Raises:
            NonFiniteLossError: one of them is not finite.
        """
        self._losses[self._recorded].copy_(loss.detach())
        self._recorded += 1
        if self._sent == self._checked and self._recorded - self._sent >= self._steps_per_copy:
            self._copy.start(self._losses[self._sent : self._recorded])
            self._sent = self._recorded
        if self._sent > self._checked:
            landed = self._copy.landed()
            if landed is not None:
                self._look_at(landed, self._checked)
                self._checked = self._sent

    def finish_epoch(self, samples: list[int]) -> tuple[float, int]:
        """Return the sum of the epoch's losses over all its images, and their number.

        `samples` are the images of each step, over which its loss is a mean. Waits for the device.

        Raises:
            NonFiniteLossError: a loss of the epoch is not finite.
        """
        losses = self._losses[: self._recorded].cpu()
        self._look_at(losses, 0)
        weights = torch.tensor(samples, dtype=torch.float64)
        return float(losses @ weights), sum(samples)

    def _look_at(self, losses: Tensor, first: int) -> None:
        """Check losses on the host, the first of them of step `first` (from 0) of the epoch."""
        bad = torch.nonzero(~torch.isfinite(losses))
        if len(bad):
            index = int(bad[0])
            msg = (
                f"training loss is {float(losses[index])} at step "
                f"{self._first_step + first + index}; lower learningRate, or use a precision "
                "with a wider range (FP32, BF16, or FP16 with casting: Autocast)"
            )
            raise NonFiniteLossError(msg)
        if len(losses):
            self.latest = float(losses[-1])
