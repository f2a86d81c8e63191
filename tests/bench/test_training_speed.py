"""gpubench's training loop beside a plain one: same model, same files, turn by turn.

Both pipelines do what the plain loop does, and time themselves besides; that must cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import torch

from gpubench.api.enums import DeviceKind
from gpubench_workloads.image_recognition.plan import RunPlan
from gpubench_workloads.image_recognition.progress import TrainingProgress
from gpubench_workloads.image_recognition.setup import (
    build_network,
    build_trainer,
    prepare_torch,
)
from gpubench_workloads.reporting.progress_writer import ProgressWriter
from tests.bench.plain_training_loop import plain_epochs
from tests.unit.image_recognition.idx_files import write_idx_dataset
from tests.unit.image_recognition.specs import image_spec

BATCH_SIZE = 64
STEPS = 10
"""Per epoch; the turn passes after each epoch."""
TURNS = 9
LOWEST_RATIO = 0.98
"""Of gpubench's speed to the plain loop's, the median over all turns."""


def our_epochs(root: Path, output: Path, **fields: Any) -> Iterator[float]:
    """Train epoch after epoch as a rank does; yield the seconds of each."""
    dataset = {"name": "idx", "path": root.name}
    spec = image_spec(dataset=dataset, batchSize=BATCH_SIZE, epochs=10_000, **fields)
    device = DeviceKind.CUDA if torch.cuda.is_available() else DeviceKind.CPU
    plan = RunPlan.make(spec.model_copy(update={"data_root": str(root.parent), "device": device}))
    prepare_torch(plan)
    progress = TrainingProgress(ProgressWriter(output, enabled=True))
    trainer = build_trainer(plan, build_network(plan), progress)
    epoch = 0
    while True:
        epoch += 1
        yield trainer.train_epoch(epoch).seconds


@pytest.mark.parametrize("image_size", [32, 100])
@pytest.mark.parametrize("workers", [0, 2])
def test_our_loop_is_as_fast_as_a_plain_one(tmp_path: Path, image_size: int, workers: int) -> None:
    root = tmp_path / "images"
    images = BATCH_SIZE * STEPS if image_size == 32 else BATCH_SIZE * STEPS // 5
    write_idx_dataset(root / "MNIST" / "raw", train=images, side=28)
    settings = {"imageSize": image_size, "workers": workers}
    loops = {
        "plain": plain_epochs(root, image_size, BATCH_SIZE, workers),
        "DataLoader": our_epochs(root, tmp_path, inputPipeline="DataLoader", **settings),
        "DeviceResident": our_epochs(root, tmp_path, inputPipeline="DeviceResident", **settings),
    }
    for loop in loops.values():
        next(loop)  # warm-up
    turns = [{name: next(loop) for name, loop in loops.items()} for _ in range(TURNS)]
    print(f"\n{image_size} px, batch {BATCH_SIZE}, {workers} workers, median of {TURNS} turns:")
    speeds = {name: images / median(turn[name] for turn in turns) for name in loops}
    for name in loops:
        ratios = sorted(turn["plain"] / turn[name] for turn in turns)
        print(
            f"  {name:14} {speeds[name]:7.1f} images/s, {median(ratios):.3f} of plain "
            f"({ratios[0]:.3f} to {ratios[-1]:.3f})"
        )
        assert median(ratios) >= LOWEST_RATIO
