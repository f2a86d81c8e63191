"""When a profile opens and closes, and what is said of one that did not come to it."""

from __future__ import annotations

import pytest

from gpubench.api.execution import NsysProfiling
from gpubench_workloads.profiling.window import (
    Moment,
    WholeTraining,
    Window,
    WindowOfSeconds,
    WindowOfSteps,
    window_of,
)


def window(**fields: object) -> Window | None:
    return window_of(NsysProfiling.model_validate(fields))


def at(steps: int, seconds: float = 0.0) -> Moment:
    return Moment(steps, seconds)


def test_what_a_spec_asks_for() -> None:
    assert window() is None
    assert window(mode="Whole") == WholeTraining()
    assert window(mode="Window", steps=20) == WindowOfSteps(warmup_steps=10, steps=20)
    assert window(mode="Window", durationSeconds=720) == WindowOfSeconds(0, 720)
    assert window(mode="Window", durationSeconds=720, delaySeconds=60) == WindowOfSeconds(60, 720)


def test_a_window_of_steps_leaves_as_many_unprofiled_steps_before_it() -> None:
    steps = WindowOfSteps(warmup_steps=10, steps=20)
    assert not steps.opens(at(29))
    assert steps.opens(at(30))
    assert not steps.closes(at(30), at(49))
    assert steps.closes(at(30), at(50))


def test_a_window_of_seconds_opens_and_closes_after_its_time() -> None:
    seconds = WindowOfSeconds(delay_seconds=60, duration_seconds=720)
    assert not seconds.opens(at(500, 59.9))
    assert seconds.opens(at(501, 60.2))
    assert not seconds.closes(at(501, 60.2), at(9000, 780.1))
    assert seconds.closes(at(501, 60.2), at(9001, 780.3))
    assert WindowOfSeconds(0, 720).opens(at(0, 0.0))


def test_the_whole_training_is_open_from_its_first_step() -> None:
    assert WholeTraining().opens(at(0))
    assert not WholeTraining().closes(at(0), at(10**6, 1e6))
    assert WholeTraining().cut_short(at(0), at(3)) is None


@pytest.mark.parametrize(
    ("total", "remedy"),
    [
        (29, "set steps: 9 at most, or train for at least 50 steps"),
        (12, "set steps: 1 at most, or train for at least 50 steps"),
        (11, "train for at least 50 steps"),
        (3, "train for at least 50 steps"),
    ],
)
def test_a_training_that_is_too_short_for_the_steps_is_told_how_many_would_fit(
    total: int, remedy: str
) -> None:
    steps = WindowOfSteps(warmup_steps=10, steps=20)
    assert not steps.opens(at(total))
    message = steps.never_opened(at(total))
    assert message.startswith(f"the training ended after {total} steps, before the window opened")
    assert message.endswith(remedy)


def test_the_steps_that_are_told_to_fit_do() -> None:
    fitting = WindowOfSteps(warmup_steps=10, steps=9)
    assert fitting.closes(at(fitting.first), at(29))


def test_a_window_that_the_end_cut_short_says_so() -> None:
    steps = WindowOfSteps(warmup_steps=10, steps=20)
    assert steps.cut_short(at(30), at(50)) is None
    assert (
        steps.cut_short(at(30), at(41))
        == "the training ended 11 steps into a window of steps: 20; set steps: 15 at most, or "
        "train for at least 50 steps"
    )
    seconds = WindowOfSeconds(0, 720)
    assert seconds.cut_short(at(0, 0.0), at(900, 721.0)) is None
    message = seconds.cut_short(at(0, 0.0), at(900, 300.4))
    assert message is not None
    assert message.startswith("the training ended 300 s into a window of durationSeconds: 720;")


def test_a_delay_that_is_too_long_says_so() -> None:
    message = WindowOfSeconds(600, 720).never_opened(at(100, 120.0))
    assert message.startswith("the training ended after 120 s, before the window opened after")
    assert "delaySeconds: 600; lower it" in message
