"""What only a GPU does, held here to the calls that it would make."""

from __future__ import annotations

import pytest
import torch

from gpubench_workloads.training import timeline
from gpubench_workloads.training.timeline import CudaTimeline


class Event:
    """An event that was reached ten milliseconds after the one before it."""

    made = 0
    clock = 0.0

    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing
        Event.made += 1
        self.recorded_at = -1.0

    def record(self) -> None:
        Event.clock += 10.0
        self.recorded_at = Event.clock

    def query(self) -> bool:
        return self.recorded_at >= 0

    def elapsed_time(self, end: Event) -> float:
        return end.recorded_at - self.recorded_at


def test_events_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "Event", Event)
    cuda = CudaTimeline()
    for _ in range(5):
        start, end = cuda.mark(), cuda.mark()
        assert cuda.has_passed(end)
        assert cuda.seconds(start, end) == pytest.approx(0.01)
        cuda.release([start, end])
    assert Event.made == 2


def test_each_device_has_its_timeline() -> None:
    assert isinstance(timeline.timeline_of(torch.device("cuda", 0)), CudaTimeline)
    assert isinstance(timeline.timeline_of(torch.device("cpu")), timeline.HostTimeline)
