"""When a profile opens and closes: after steps, after seconds, or around everything. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from gpubench.api.enums import NsysMode
from gpubench.api.execution import NsysProfiling


@dataclass(frozen=True)
class Moment:
    """A point between two steps of the training."""

    steps: int
    """Finished steps."""
    seconds: float
    """Since the training began."""


class Window(ABC):
    """What is to be profiled. Asked between steps, so that it opens and closes there."""

    together = True
    """Whether all ranks open at the same step, so that they can wait for each other."""

    @abstractmethod
    def opens(self, now: Moment) -> bool:
        """Return whether a window that has not been open yet opens now."""

    @abstractmethod
    def closes(self, opened: Moment, now: Moment) -> bool:
        """Return whether a window that was opened then closes now."""

    @abstractmethod
    def never_opened(self, end: Moment) -> str:
        """Say why a training that ended then never opened it, and what would help."""

    @abstractmethod
    def cut_short(self, opened: Moment, end: Moment) -> str | None:
        """Say what a window lacks that ended with the training; None if it is as asked for."""


@dataclass(frozen=True)
class WindowOfSteps(Window):
    """Warm-up, then an unprofiled stretch of the window's own length, then the window."""

    warmup_steps: int
    steps: int

    @property
    def first(self) -> int:
        """Steps that are finished when it opens."""
        return self.warmup_steps + self.steps

    def opens(self, now: Moment) -> bool:
        return now.steps >= self.first

    def closes(self, opened: Moment, now: Moment) -> bool:
        return now.steps - opened.steps >= self.steps

    def never_opened(self, end: Moment) -> str:
        return (
            f"the training ended after {end.steps} steps, before the window opened after "
            f"{self.first} (warmupSteps: {self.warmup_steps}, then steps: {self.steps} without "
            f"the profiler); {self._remedy(end.steps)}"
        )

    def cut_short(self, opened: Moment, end: Moment) -> str | None:
        covered = end.steps - opened.steps
        if covered >= self.steps:
            return None
        return (
            f"the training ended {covered} steps into a window of steps: {self.steps}; "
            f"{self._remedy(end.steps)}"
        )

    def _remedy(self, total: int) -> str:
        fitting = (total - self.warmup_steps) // 2
        more = f"train for at least {self.first + self.steps} steps"
        return f"set steps: {fitting} at most, or {more}" if fitting > 0 else more


@dataclass(frozen=True)
class WindowOfSeconds(Window):
    """Opens and closes at the first end of a step after a time; each rank by its own clock."""

    delay_seconds: float
    duration_seconds: float
    together = False

    def opens(self, now: Moment) -> bool:
        return now.seconds >= self.delay_seconds

    def closes(self, opened: Moment, now: Moment) -> bool:
        return now.seconds - opened.seconds >= self.duration_seconds

    def never_opened(self, end: Moment) -> str:
        return (
            f"the training ended after {end.seconds:.0f} s, before the window opened after "
            f"delaySeconds: {self.delay_seconds:.0f}; lower it, or train for longer"
        )

    def cut_short(self, opened: Moment, end: Moment) -> str | None:
        covered = end.seconds - opened.seconds
        if covered >= self.duration_seconds:
            return None
        return (
            f"the training ended {covered:.0f} s into a window of durationSeconds: "
            f"{self.duration_seconds:.0f}; lower it, or train for longer"
        )


@dataclass(frozen=True)
class WholeTraining(Window):
    """From the first step to the end of the last epoch."""

    def opens(self, now: Moment) -> bool:  # noqa: ARG002 - at once
        return True

    def closes(self, opened: Moment, now: Moment) -> bool:  # noqa: ARG002 - with the training
        return False

    def never_opened(self, end: Moment) -> str:
        return f"the training ended after {end.steps} steps, before the window opened"

    def cut_short(self, opened: Moment, end: Moment) -> str | None:  # noqa: ARG002 - it cannot be
        return None


def window_of(profiling: NsysProfiling) -> Window | None:
    """Return the window that a spec asks for; None if it asks for no profile."""
    if profiling.mode is NsysMode.DISABLED:
        return None
    if profiling.mode is NsysMode.WHOLE:
        return WholeTraining()
    if profiling.steps is not None:
        return WindowOfSteps(profiling.warmup_steps, profiling.steps)
    assert profiling.duration_seconds is not None, "the spec was checked"
    return WindowOfSeconds(profiling.delay_seconds or 0, profiling.duration_seconds)
