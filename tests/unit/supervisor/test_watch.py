"""Since when nothing has moved."""

from __future__ import annotations

from pathlib import Path

from gpubench.api.progress import AttemptProgress, Stage
from gpubench_workloads.supervisor.watch import ProgressWatch


class Clock:
    """A clock that stands still until it is told to go on."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def publish(path: Path, step: int, stage: Stage = Stage.TRAINING) -> None:
    progress = AttemptProgress(stage=stage, step=step, steps=9, time=float(step))
    path.write_text(progress.model_dump_json(by_alias=True), encoding="utf-8")


def test_counts_from_the_start_until_there_is_progress(tmp_path: Path) -> None:
    clock = Clock()
    watch = ProgressWatch(tmp_path / "progress.json", clock)
    clock.now += 30
    assert watch.seconds_without_progress() == 30


def test_counts_from_the_last_change(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "progress.json"
    watch = ProgressWatch(path, clock)
    for step in (1, 2):
        publish(path, step)
        clock.now += 10
        assert watch.seconds_without_progress() == 0
    clock.now += 7
    assert watch.seconds_without_progress() == 7
    publish(path, 2, Stage.EVALUATING)
    assert watch.seconds_without_progress() == 0


def test_a_file_written_again_without_a_new_step_is_no_progress(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "progress.json"
    watch = ProgressWatch(path, clock)
    publish(path, 1)
    watch.seconds_without_progress()
    clock.now += 5
    publish(path, 1)
    assert watch.seconds_without_progress() == 5


def test_a_damaged_file_is_no_progress(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "progress.json"
    watch = ProgressWatch(path, clock)
    path.write_text('{"stage": "Trai', encoding="utf-8")
    clock.now += 5
    assert watch.seconds_without_progress() == 5
