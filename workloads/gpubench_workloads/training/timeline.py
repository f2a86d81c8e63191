"""Moments of a device's timeline, taken without making the host wait for the device."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Protocol, TypeVar

import torch

Mark = TypeVar("Mark")


class Timeline(Protocol[Mark]):
    """Takes marks, and tells the time between two of them once both have passed."""

    def mark(self) -> Mark:
        """Mark the present end of the device's queue of work."""

    def has_passed(self, mark: Mark) -> bool:
        """Return whether the device has reached a mark; does not wait for it."""

    def seconds(self, start: Mark, end: Mark) -> float:
        """Return the time between two marks that have passed."""

    def release(self, marks: Iterable[Mark]) -> None:
        """Take back marks that nobody asks for any more."""


class HostTimeline:
    """The processor's timeline: a mark is the present moment."""

    def mark(self) -> float:
        return time.perf_counter()

    def has_passed(self, mark: float) -> bool:  # noqa: ARG002 - it is past as soon as it is taken
        return True

    def seconds(self, start: float, end: float) -> float:
        return end - start

    def release(self, marks: Iterable[float]) -> None:
        """Numbers need no taking back."""


class CudaTimeline:
    """A GPU's timeline: a mark is an event in its current stream.

    Events are used again and again, because creating and destroying them costs driver calls,
    which would show in the very profile that a run is made for.
    """

    def __init__(self) -> None:
        self._idle: list[torch.cuda.Event] = []

    def mark(self) -> torch.cuda.Event:
        event = self._idle.pop() if self._idle else torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def has_passed(self, mark: torch.cuda.Event) -> bool:
        return bool(mark.query())

    def seconds(self, start: torch.cuda.Event, end: torch.cuda.Event) -> float:
        return float(start.elapsed_time(end)) / 1000  # from milliseconds

    def release(self, marks: Iterable[torch.cuda.Event]) -> None:
        self._idle.extend(marks)


def timeline_of(device: torch.device) -> HostTimeline | CudaTimeline:
    """Return the timeline of a device."""
    return CudaTimeline() if device.type == "cuda" else HostTimeline()
