"""StepClock on a timeline that a test holds in its hand."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pytest

from gpubench_workloads.training.step_clock import StepClock, mean_phases
from gpubench_workloads.training.timeline import HostTimeline


@dataclass
class SlowDevice:
    """A device that is behind the host: marks pass only when the test says so."""

    now: float = 0.0
    reached: float = 0.0
    waited_for_device: bool = False
    in_use: list[float] = field(default_factory=list)

    def mark(self) -> float:
        self.now += 0.001  # no two marks are the same
        self.in_use.append(self.now)
        return self.now

    def has_passed(self, mark: float) -> bool:
        return mark <= self.reached

    def seconds(self, start: float, end: float) -> float:
        assert end <= self.reached, "read before it has passed"
        assert {start, end} <= set(self.in_use), "read after it was taken back"
        return end - start

    def release(self, marks: Iterable[float]) -> None:
        for mark in marks:
            self.in_use.remove(mark)

    def work(self, seconds: float) -> None:
        self.now += seconds


def run_step(clock: StepClock[float], device: SlowDevice, samples: int = 4, loads: int = 1) -> None:
    for _ in range(loads):
        with clock.moving():
            device.work(1)
        device.work(0.1)
    device.work(10)
    clock.computed()
    device.work(100)
    clock.finish_step(samples)


def test_phases_are_told_apart() -> None:
    device = SlowDevice(reached=1e9)
    clock = StepClock(device, warmup_steps=0, full_steps=9)
    clock.begin_epoch(1)
    run_step(clock, device)
    run_step(clock, device, loads=3)
    first, second = clock.records
    assert (first.epoch, first.step, first.samples) == (1, 1, 4)
    assert first.host_to_device_seconds == pytest.approx(1, abs=0.01)
    assert first.compute_seconds == pytest.approx(10.1, abs=0.01)
    assert first.optimizer_seconds == pytest.approx(100, abs=0.01)
    assert first.iteration_seconds == pytest.approx(111.1, abs=0.01)
    assert second.host_to_device_seconds == pytest.approx(3, abs=0.01)
    assert second.iteration_seconds == pytest.approx(113.3, abs=0.01)


def test_steps_are_read_when_the_device_has_passed_them() -> None:
    device = SlowDevice()
    clock = StepClock(device, warmup_steps=0, full_steps=9)
    clock.begin_epoch(1)
    run_step(clock, device)
    after_first = device.now
    run_step(clock, device)
    run_step(clock, device)
    assert not clock.records
    device.reached = after_first
    clock.read_passed()
    assert [record.step for record in clock.records] == [1]
    device.reached = device.now
    clock.finish_epoch()
    assert [record.step for record in clock.records] == [1, 2, 3]


def test_every_mark_is_taken_back() -> None:
    device = SlowDevice()
    clock = StepClock(device, warmup_steps=0, full_steps=9)
    for epoch in (1, 2):
        clock.begin_epoch(epoch)
        run_step(clock, device, loads=2)
        run_step(clock, device)
        with clock.moving():  # loaded, but trained by nobody
            device.work(1)
        device.reached = device.now
        clock.finish_epoch()
        assert not device.in_use


def test_an_epoch_does_not_count_what_lies_between_epochs() -> None:
    device = SlowDevice(reached=1e9)
    clock = StepClock(device, warmup_steps=0, full_steps=9)
    clock.begin_epoch(1)
    run_step(clock, device)
    clock.finish_epoch()
    device.work(1000)  # evaluation
    clock.begin_epoch(2)
    run_step(clock, device)
    assert clock.records[1].iteration_seconds == pytest.approx(111.1, abs=0.01)
    assert (clock.records[1].epoch, clock.records[1].step) == (2, 2)


@pytest.mark.parametrize(
    ("warmup_steps", "full_steps", "steady"),
    [
        (0, 4, [2, 3, 4, 6, 7, 8]),  # not the first of an epoch
        (3, 4, [4, 6, 7, 8]),
        (0, 3, [2, 3, 6, 7]),  # not the last, smaller one
        (6, 3, [7]),
        (0, 1, []),
        (9, 4, []),
    ],
)
def test_steady_steps(warmup_steps: int, full_steps: int, steady: list[int]) -> None:
    device = SlowDevice(reached=1e9)
    clock = StepClock(device, warmup_steps, full_steps)
    for epoch in (1, 2):
        clock.begin_epoch(epoch)
        for _ in range(4):
            run_step(clock, device)
        clock.finish_epoch()
    assert [record.step for record in clock.records if record.steady] == steady
    assert (mean_phases(clock.records) is None) == (not steady)


def slow_loader(seconds: list[float]) -> Iterator[int]:
    for number, wait in enumerate(seconds):
        time.sleep(wait)
        yield number


def test_waiting_for_batches_is_the_hosts_time() -> None:
    clock = StepClock(HostTimeline(), warmup_steps=0, full_steps=9)
    clock.begin_epoch(1)
    for number in clock.waiting(slow_loader([0.2, 0.3, 0.01])):
        with clock.moving():
            pass
        if number == 0:
            continue  # loaded for others: its time is that of the next step
        time.sleep(0.04)
        clock.computed()
        clock.finish_step(1)
    clock.finish_epoch()
    first, second = clock.records
    # A sleep may be longer than asked for on a busy machine, never shorter.
    assert first.data_seconds >= 0.5
    assert 0.01 <= second.data_seconds < 0.2
    assert first.compute_seconds >= 0.04
    assert first.data_seconds + first.compute_seconds <= first.iteration_seconds


def test_mean_phases_are_those_of_steady_steps() -> None:
    device = SlowDevice(reached=1e9)
    clock = StepClock(device, warmup_steps=0, full_steps=9)
    clock.begin_epoch(1)
    device.work(500)
    run_step(clock, device, loads=9)
    run_step(clock, device, loads=1)
    run_step(clock, device, loads=3)
    phases = mean_phases(clock.records)
    assert phases is not None
    assert phases.host_to_device_seconds == pytest.approx(2, abs=0.01)
    assert phases.optimizer_seconds == pytest.approx(100, abs=0.01)
