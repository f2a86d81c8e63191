"""LossWatch: what it adds up, and how soon it raises the alarm."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
import torch
from torch import Tensor

from gpubench_workloads.image_recognition.loss_watch import STEPS_PER_COPY, LossWatch
from gpubench_workloads.training.errors import NonFiniteLossError

CPU = torch.device("cpu")


class SlowCopy:
    """A copy that lands only when it has been asked about often enough."""

    def __init__(self, questions: int) -> None:
        self.questions = questions
        self.starts = 0
        self._left = 0
        self._values = torch.empty(0)

    def start(self, values: Tensor) -> None:
        assert self._left <= 0, "the buffer is still in use"
        self.starts += 1
        self._values = values.clone()
        self._left = self.questions

    def landed(self) -> Tensor | None:
        self._left -= 1
        return self._values if self._left < 0 else None


def watch_like_on_a_gpu(steps: int, copy: SlowCopy) -> LossWatch:
    watch = LossWatch(steps, CPU, copy)
    watch._steps_per_copy = STEPS_PER_COPY
    return watch


def record_all(watch: LossWatch, losses: Iterable[float]) -> None:
    for loss in losses:
        watch.record(torch.tensor(loss))


def test_the_epochs_loss_is_the_mean_over_its_images() -> None:
    watch = LossWatch(3, CPU)
    watch.begin_epoch(first_step=1)
    record_all(watch, [4.0, 2.0, 1.0])
    total, images = watch.finish_epoch([10, 10, 5])
    assert total / images == pytest.approx((4 * 10 + 2 * 10 + 1 * 5) / 25)
    assert watch.latest == 1.0


def test_epochs_do_not_mix() -> None:
    watch = LossWatch(2, CPU)
    for first, losses in ((1, [1.0, 2.0]), (3, [3.0, 5.0])):
        watch.begin_epoch(first)
        record_all(watch, losses)
        assert watch.finish_epoch([1, 1]) == (sum(losses), 2)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_cpu_raises_the_alarm_at_once(bad: float) -> None:
    watch = LossWatch(5, CPU)
    watch.begin_epoch(first_step=11)
    watch.record(torch.tensor(1.0))
    with pytest.raises(NonFiniteLossError, match=rf"training loss is {bad} at step 12;"):
        watch.record(torch.tensor(bad))


@pytest.mark.parametrize("questions", [0, 1, 7, 40])
def test_a_gpu_raises_the_alarm_when_the_copy_has_landed(questions: int) -> None:
    copy = SlowCopy(questions)
    watch = watch_like_on_a_gpu(200, copy)
    watch.begin_epoch(first_step=1)
    losses = iter([1.0] * 19 + [math.nan] + [1.0] * 180)
    with pytest.raises(NonFiniteLossError, match="at step 20;"):
        record_all(watch, losses)
    alarm_at = 200 - len(list(losses))
    assert 20 <= alarm_at <= 20 + 2 * STEPS_PER_COPY + 2 * questions


def test_a_copy_in_flight_is_never_overwritten() -> None:
    copy = SlowCopy(questions=50)
    watch = watch_like_on_a_gpu(300, copy)
    watch.begin_epoch(first_step=1)
    record_all(watch, [1.0] * 300)
    assert 1 < copy.starts <= 300 / 50


def test_the_end_of_the_epoch_misses_nothing() -> None:
    watch = watch_like_on_a_gpu(5, SlowCopy(questions=1000))
    watch.begin_epoch(first_step=1)
    record_all(watch, [1.0, math.nan, 1.0])
    with pytest.raises(NonFiniteLossError, match="at step 2;"):
        watch.finish_epoch([1, 1, 1])


def test_a_copy_left_over_from_the_epoch_before_is_not_read() -> None:
    copy = SlowCopy(questions=30)
    watch = watch_like_on_a_gpu(20, copy)
    watch.begin_epoch(first_step=1)
    record_all(watch, [1.0] * 20)
    watch.finish_epoch([1] * 20)
    copy._left = 0  # the device was waited for
    watch.begin_epoch(first_step=21)
    record_all(watch, [2.0] * 20)
    assert watch.finish_epoch([1] * 20) == (40.0, 20)
    assert watch.latest == 2.0
