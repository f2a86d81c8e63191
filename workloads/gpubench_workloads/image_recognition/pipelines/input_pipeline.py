"""What the training loop asks of an input pipeline, and what it gives to make one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gpubench_workloads.image_recognition.datasets import Split
from gpubench_workloads.image_recognition.pipelines.image_format import ImageFormat


@dataclass(frozen=True)
class PipelineSettings:
    """How images are loaded."""

    image_format: ImageFormat
    device: torch.device
    batch_size: int
    """Images per loaded batch."""
    workers: int
    """Loading processes; 0 loads in this one."""
    pin_memory: bool
    """Whether batches lie in page-locked memory."""


class InputPipeline(ABC):
    """Brings images to the device in two parts, timed apart: waiting for a batch, moving it."""

    @abstractmethod
    def __init__(self, split: Split, settings: PipelineSettings) -> None:
        """Get ready to load images of this split."""

    @abstractmethod
    def batches(self, order: Tensor) -> Iterator[Sequence[Tensor]]:
        """Yield the images named by `order` in batches, each in the pipeline's own form."""

    @abstractmethod
    def to_device(self, batch: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Return a batch as images [batch, 3, size, size] and labels [batch] on the device."""

    @property
    @abstractmethod
    def order_device(self) -> torch.device:
        """Where the order of an epoch should be made."""

    @staticmethod
    @abstractmethod
    def describe() -> str:
        """Say for a result's settings where images are resized and what is copied."""
