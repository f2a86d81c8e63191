"""Progress as the first rank tells it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gpubench.api.layout import PROGRESS_FILE
from gpubench.api.progress import AttemptProgress, Stage
from gpubench_workloads.reporting.progress_writer import ProgressWriter
from gpubench_workloads.training.progress import TrainingProgress
from gpubench_workloads.training.step_clock import StepRecord


def records(count: int) -> list[StepRecord]:
    none = 0.0
    return [
        StepRecord(1, n + 1, True, False, True, 1.0, none, none, 1.0, none, samples=8)
        for n in range(count)
    ]


def published(folder: Path) -> AttemptProgress:
    return AttemptProgress.model_validate_json((folder / PROGRESS_FILE).read_bytes())


def test_all_ranks_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    progress = TrainingProgress(ProgressWriter(tmp_path, enabled=True))
    progress.stage(Stage.STARTING)
    assert published(tmp_path).stage is Stage.STARTING
    progress.plan(epochs=3, steps=30, ranks=2)
    progress.begin_epoch(1)
    now = 102.0
    progress.training(records(5), 1.5)
    first = published(tmp_path)
    assert (first.stage, first.epoch, first.epochs) == (Stage.TRAINING, 1, 3)
    assert (first.step, first.steps, first.loss) == (5, 30, 1.5)
    assert first.samples_per_second == pytest.approx(5 * 8 * 2 / 2.0)
    now = 103.0
    progress.training(records(10), 1.0)
    assert published(tmp_path).samples_per_second == pytest.approx(5 * 8 * 2 / 1.0)
    progress.stage(Stage.EVALUATING)
    last = published(tmp_path)
    assert (last.stage, last.step) == (Stage.EVALUATING, 10)


def test_it_is_not_written_at_every_step(tmp_path: Path) -> None:
    progress = TrainingProgress(ProgressWriter(tmp_path, enabled=True))
    progress.begin_epoch(1)
    progress.training(records(1), 1.0)
    assert published(tmp_path).step == 0
    progress.training(records(2), 1.0, force=True)
    assert published(tmp_path).step == 2


def test_other_ranks_are_silent(tmp_path: Path) -> None:
    progress = TrainingProgress(ProgressWriter(tmp_path, enabled=False))
    progress.begin_epoch(1)
    progress.training(records(1), 1.0, force=True)
    assert not list(tmp_path.iterdir())
