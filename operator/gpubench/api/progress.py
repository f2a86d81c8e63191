"""Progress: where a running attempt is, for screens and deadlines."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpubench.api.base import ApiModel


class Stage(StrEnum):
    """What an attempt is doing."""

    PREFLIGHT = "Preflight"
    STARTING = "Starting"
    TRAINING = "Training"
    EVALUATING = "Evaluating"
    FINISHING = "Finishing"


class AttemptProgress(ApiModel):
    """Where a running attempt is."""

    stage: Stage
    """What it is doing."""
    epoch: Annotated[int, Field(ge=0)] = 0
    """Current epoch, from 1; 0 before the first."""
    epochs: Annotated[int, Field(ge=0)] = 0
    """Epochs in all."""
    step: Annotated[int, Field(ge=0)] = 0
    """Finished optimizer steps of all epochs."""
    steps: Annotated[int, Field(ge=0)] = 0
    """Optimizer steps in all."""
    samples_per_second: Annotated[float, Field(ge=0)] | None = None
    """Trained samples per second of all ranks lately."""
    iteration_seconds: Annotated[float, Field(ge=0)] | None = None
    """Seconds per step lately."""
    loss: float | None = None
    """Training loss lately."""
    time: Annotated[float, Field(ge=0)] = 0.0
    """When this was written, seconds since the epoch."""
