"""StepClock: how long each step took, and where its time went."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from gpubench.api.result import StepPhases
from gpubench_workloads.training.timeline import Mark, Timeline

Item = TypeVar("Item")


@dataclass(frozen=True)
class StepRecord:
    """A finished step, under the names of the table's columns; times in seconds."""

    epoch: int
    """From 1."""
    step: int
    """From 1, counted on over epochs."""
    regular: bool
    """Whether it took the time that training takes for long: it is after the warm-up, has a full
    batch, and nothing was done before it that no other step does."""
    profiled: bool
    """Whether a profiler recorded it."""
    steady: bool
    """Whether steady-state numbers count it: it is regular, and no profiler slowed it."""
    iteration_seconds: float
    """From the end of the step before (of the epoch's start) to its own end."""
    data_seconds: float
    """The host's wait for its batches; for DDP-RR also for those that other ranks train on."""
    host_to_device_seconds: float
    """Moving them to the device, or preparing them there."""
    compute_seconds: float
    """Forward and backward pass, gradients averaged."""
    optimizer_seconds: float
    """The update of the weights."""
    samples: int
    """Images that this rank trained on."""


@dataclass(frozen=True)
class _MarkedStep(Generic[Mark]):
    """A step whose marks the device may not have reached yet."""

    step: int
    epoch: int
    step_in_epoch: int
    start: Mark
    moves: list[tuple[Mark, Mark]]
    computed: Mark
    end: Mark
    data_seconds: float
    samples: int
    profiled: bool
    disturbed: bool


class StepClock(Generic[Mark]):
    """Marks the phases of each step and reads them later, so that no step waits for the device.

    Steady are the steps that tell how fast training goes on for long: after the warm-up, and of
    each epoch neither the first one, whose loader starts anew, nor those with smaller batches.
    """

    def __init__(self, timeline: Timeline[Mark], warmup_steps: int, full_steps: int) -> None:
        """Read marks of `timeline`; the first `full_steps` of each epoch have full batches."""
        self._timeline = timeline
        self._warmup_steps = warmup_steps
        self._full_steps = full_steps
        self._unread: deque[_MarkedStep[Mark]] = deque()
        self._epoch = 0
        self._steps = 0
        self._steps_before_epoch = 0
        self._previous_end: Mark | None = None
        self._computed: Mark | None = None
        self._moves: list[tuple[Mark, Mark]] = []
        self._waited_seconds = 0.0
        self.records: list[StepRecord] = []
        """The steps whose end the device has passed, in order."""

    def begin_epoch(self, epoch: int) -> None:
        """Start an epoch (from 1), whose first step begins now."""
        self._epoch = epoch
        self._steps_before_epoch = self._steps
        self._previous_end = self._timeline.mark()

    def waiting(self, batches: Iterator[Item]) -> Iterator[Item]:
        """Yield from a loader, counting the host's wait for it."""
        while True:
            start = time.perf_counter()
            try:
                batch = next(batches)
            except StopIteration:
                return
            finally:
                self._waited_seconds += time.perf_counter() - start
            yield batch

    @contextmanager
    def moving(self) -> Iterator[None]:
        """Count what is done inside as moving a batch to the device."""
        start = self._timeline.mark()
        yield
        self._moves.append((start, self._timeline.mark()))

    def computed(self) -> None:
        """Mark the end of the backward pass."""
        self._computed = self._timeline.mark()

    def finish_step(self, samples: int, *, profiled: bool = False, disturbed: bool = False) -> None:
        """Mark the end of a step that trained on `samples`, and read those that are over.

        `disturbed`: something else was going on meanwhile, such as a profiler that was starting.
        """
        assert self._previous_end is not None
        assert self._computed is not None
        self._steps += 1
        end = self._timeline.mark()
        self._unread.append(
            _MarkedStep(
                step=self._steps,
                epoch=self._epoch,
                step_in_epoch=self._steps - self._steps_before_epoch,
                start=self._previous_end,
                moves=self._moves,
                computed=self._computed,
                end=end,
                data_seconds=self._waited_seconds,
                samples=samples,
                profiled=profiled,
                disturbed=disturbed,
            )
        )
        self._previous_end, self._computed = end, None
        self._moves, self._waited_seconds = [], 0.0
        self.read_passed()

    def finish_epoch(self) -> None:
        """Read what is left; the caller has waited for the device.

        Batches that came after the epoch's last step belong to no step.
        """
        self.read_passed()
        assert not self._unread
        assert self._previous_end is not None
        self._timeline.release([self._previous_end, *_flat(self._moves)])
        self._previous_end = None
        self._moves, self._waited_seconds = [], 0.0

    def read_passed(self) -> None:
        """Turn the steps whose end has passed into records."""
        while self._unread and self._timeline.has_passed(self._unread[0].end):
            step = self._unread.popleft()
            self.records.append(self._record(step))
            # Its end stays in use as the start of the step after it.
            self._timeline.release([step.start, step.computed, *_flat(step.moves)])

    def _record(self, step: _MarkedStep[Mark]) -> StepRecord:
        seconds = self._timeline.seconds
        _, moved = step.moves[-1]
        regular = (
            step.step > self._warmup_steps
            and 1 < step.step_in_epoch <= self._full_steps
            and not step.disturbed
        )
        return StepRecord(
            epoch=step.epoch,
            step=step.step,
            regular=regular,
            profiled=step.profiled,
            steady=regular and not step.profiled,
            iteration_seconds=seconds(step.start, step.end),
            data_seconds=step.data_seconds,
            host_to_device_seconds=sum(seconds(start, end) for start, end in step.moves),
            compute_seconds=seconds(moved, step.computed),
            optimizer_seconds=seconds(step.computed, step.end),
            samples=step.samples,
        )


def mean_phases(records: Iterable[StepRecord]) -> StepPhases | None:
    """Return the mean of each phase over the steady steps; None without any.

    Where every regular step was profiled, over those.
    """
    regular = [record for record in records if record.regular]
    steady = [record for record in regular if record.steady] or regular
    if not steady:
        return None
    return StepPhases(
        data_seconds=sum(r.data_seconds for r in steady) / len(steady),
        host_to_device_seconds=sum(r.host_to_device_seconds for r in steady) / len(steady),
        compute_seconds=sum(r.compute_seconds for r in steady) / len(steady),
        optimizer_seconds=sum(r.optimizer_seconds for r in steady) / len(steady),
    )


def _flat(moves: Iterable[tuple[Mark, Mark]]) -> list[Mark]:
    return [mark for move in moves for mark in move]
