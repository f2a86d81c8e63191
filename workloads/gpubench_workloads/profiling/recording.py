"""A rank's part of its profile: the window opens and closes between two of its steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol, TypeVar

from gpubench_workloads.profiling import ranges
from gpubench_workloads.profiling.window import Moment, Window
from gpubench_workloads.reporting.rank_report import ProfileSource, RankProfile

Item = TypeVar("Item")
NOTHING: AbstractContextManager[None] = nullcontext()


class Profiler(Protocol):
    """Records what a rank does while it is open, and names the parts of it."""

    source: ProfileSource

    @property
    def is_settled(self) -> bool:
        """Whether it has nothing more to do about what it recorded."""

    def open(self) -> None:
        """Begin to record."""

    def close(self) -> None:
        """Stop recording."""

    def start(self, name: str) -> None:
        """Begin a range that may overlap with others."""

    def end(self, name: str) -> None:
        """End a range that was begun."""

    def inside(self, name: str) -> AbstractContextManager[None]:
        """Return a context that is a range."""

    def save(self) -> None:
        """Write what was recorded, now that the training is over.

        Raises:
            OSError: it cannot be written.
        """


@dataclass(frozen=True)
class Surroundings:
    """What a recording needs of the training around it."""

    steps_per_epoch: int
    epochs: int
    wait_for_device: Callable[[], None]
    """Returns once the device has done all that it was given."""
    wait_for_ranks: Callable[[str], None]
    """Returns once every rank has called it with this word; leaves no trace on the device."""

    @property
    def steps(self) -> int:
        """Steps of the whole training."""
        return self.steps_per_epoch * self.epochs


class Recording:
    """Opens and closes the window; costs next to nothing while there is none."""

    def __init__(
        self,
        profiler: Profiler | None,
        window: Window | None,
        surroundings: Surroundings,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Record `window` by `profiler`; without both there is no profile."""
        self._profiler = profiler
        self._window = window
        self._around = surroundings
        self._clock = clock
        self._began: float | None = None
        self._steps = 0
        self._opened: Moment | None = None
        self._closed: Moment | None = None
        self.disturbs = False
        """Whether the profiler does something else in the present step than record it."""

    @property
    def is_open(self) -> bool:
        """Whether what happens now is recorded."""
        return self._opened is not None and self._closed is None

    def begin_epoch(self) -> None:
        """Start an epoch, before its first batch is waited for."""
        if self._profiler is None:
            return
        if self._began is None:
            self._began = self._clock()
        self._begin_step()
        if self.is_open:
            self._profiler.start(ranges.EPOCH)
            self._profiler.start(ranges.STEP)

    def finish_step(self) -> None:
        """End a step, after its last work was handed to the device."""
        self._steps += 1
        if self._profiler is None:
            return
        was_open, last = self.is_open, self._steps % self._around.steps_per_epoch == 0
        if was_open:
            self._profiler.end(ranges.STEP)
            if last:
                self._around.wait_for_device()
                self._profiler.end(ranges.EPOCH)
            self._close_if_due()
        if last:
            return
        self._begin_step()
        if self.is_open:
            self._profiler.start(ranges.STEP)
            if not was_open:
                self._profiler.start(ranges.EPOCH)

    def inside(self, name: str) -> AbstractContextManager[None]:
        """Return a context that is named in the profile."""
        if self._profiler is None or not self.is_open:
            return NOTHING
        return self._profiler.inside(name)

    def each(self, name: str, items: Iterator[Item]) -> Iterator[Item]:
        """Yield items; waiting for each is named in the profile."""
        if self._profiler is None:
            return items
        return self._each(name, items)

    def report(self) -> RankProfile | None:
        """Write what was recorded and say what it covers; None if no profile was asked for."""
        if self._profiler is None or self._window is None:
            return None
        end = self._now()
        if self._opened is None:
            note: str | None = self._window.never_opened(end)
            return RankProfile(source=self._profiler.source, note=note)
        assert self._closed is not None, "it closes with the training"
        note = self._window.cut_short(self._opened, self._closed)
        try:
            self._profiler.save()
        except OSError as error:
            note = f"{error.filename or 'its trace'}: {error.strerror or error}"
        return RankProfile(
            source=self._profiler.source,
            first_step=self._opened.steps + 1,
            steps=self._closed.steps - self._opened.steps,
            seconds=self._closed.seconds - self._opened.seconds,
            note=note,
        )

    def _each(self, name: str, items: Iterator[Item]) -> Iterator[Item]:
        while True:
            try:
                with self.inside(name):
                    item = next(items)
            except StopIteration:
                return
            yield item

    def _begin_step(self) -> None:
        """Open the window if that is due; the step that follows is not like others then."""
        assert self._profiler is not None
        assert self._window is not None
        if self._closed is not None:
            just_closed = self._closed.steps == self._steps
            self.disturbs = just_closed or (self.disturbs and not self._profiler.is_settled)
            return
        self.disturbs = self._opened is None and self._window.opens(self._now())
        if not self.disturbs:
            return
        self._around.wait_for_device()
        self._profiler.open()
        if self._window.together:
            self._around.wait_for_ranks("profile")
        self._opened = self._now()

    def _close_if_due(self) -> None:
        assert self._profiler is not None
        assert self._window is not None
        assert self._opened is not None
        over = self._steps == self._around.steps
        if not over and not self._window.closes(self._opened, self._now()):
            return
        self._around.wait_for_device()
        self._closed = self._now()
        self._profiler.end(ranges.EPOCH)
        self._profiler.close()

    def _now(self) -> Moment:
        assert self._began is not None
        return Moment(self._steps, self._clock() - self._began)
