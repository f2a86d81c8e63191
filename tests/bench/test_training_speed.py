"""gpubench's training loop beside a plain one: same model, same files, step by step in turn.

Ours does what the plain loop does, and measures itself besides; that must cost nothing. Both load
images in their own process, so that loading counts, and compute with one thread, so that others
at work on the machine disturb little.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles

import pytest

from gpubench_workloads.image_recognition.plan import RunPlan
from gpubench_workloads.image_recognition.progress import TrainingProgress
from gpubench_workloads.image_recognition.setup import (
    build_network,
    build_trainer,
    prepare_torch,
)
from gpubench_workloads.image_recognition.step_clock import StepRecord
from gpubench_workloads.reporting.progress_writer import ProgressWriter
from tests.bench.plain_training_loop import plain_steps
from tests.unit.image_recognition.idx_files import write_idx_dataset
from tests.unit.image_recognition.specs import image_spec

BATCH_SIZE = 64
WARMUP_STEPS = 5
LOWEST_RATIO = 0.98
"""Of gpubench's speed to the plain loop's, the median over all pairs of steps."""


class TurnTaking(TrainingProgress):
    """Lets the plain loop do a step after each of ours."""

    def __init__(self, writer: ProgressWriter, plain: Iterator[float]) -> None:
        super().__init__(writer)
        self._plain = plain
        self.plain_seconds: list[float] = []

    def training(
        self, records: Sequence[StepRecord], loss: float | None, *, force: bool = False
    ) -> None:
        super().training(records, loss, force=force)
        if force:
            return  # the end of the epoch
        start = time.perf_counter()
        next(self._plain)
        self.plain_seconds.append(time.perf_counter() - start)


def pairs_of_steps(
    root: Path, output: Path, pipeline: str, image_size: int
) -> list[tuple[float, float]]:
    """Return the seconds of each step of the plain loop and of ours that followed it."""
    spec = image_spec(
        dataset={"name": "idx", "path": root.name},
        inputPipeline=pipeline,
        imageSize=image_size,
        batchSize=BATCH_SIZE,
    )
    plan = RunPlan.make(spec.model_copy(update={"data_root": str(root.parent)}))
    prepare_torch(plan)
    turns = TurnTaking(
        ProgressWriter(output, enabled=True), plain_steps(root, image_size, BATCH_SIZE)
    )
    trainer = build_trainer(plan, build_network(plan), turns)
    trainer.train_epoch(1)
    # The plain loop's step falls into ours that comes next, and is taken out of it again.
    ours = [
        record.iteration_seconds - plain_seconds
        for record, plain_seconds in zip(
            trainer.clock.records[1:], turns.plain_seconds[:-1], strict=True
        )
    ]
    return list(zip(turns.plain_seconds[:-1], ours, strict=True))[WARMUP_STEPS:]


@pytest.mark.parametrize(("image_size", "steps"), [(32, 100), (100, 40), (224, 12)])
@pytest.mark.parametrize("pipeline", ["DataLoader", "DeviceResident"])
def test_our_loop_is_as_fast_as_a_plain_one(
    tmp_path: Path, pipeline: str, image_size: int, steps: int
) -> None:
    root = tmp_path / "images"
    images = BATCH_SIZE * (steps + WARMUP_STEPS + 1)
    write_idx_dataset(root / "MNIST" / "raw", train=images, side=28)
    pairs = pairs_of_steps(root, tmp_path, pipeline, image_size)
    plain, ours = (BATCH_SIZE / median(seconds) for seconds in zip(*pairs, strict=True))
    ratios = [plain_seconds / our_seconds for plain_seconds, our_seconds in pairs]
    low, ratio, high = quantiles(ratios, n=4)
    print(
        f"\n{pipeline}, {image_size} px, batch {BATCH_SIZE}, {len(pairs)} pairs of steps: "
        f"{ours:.1f} images/s, plain {plain:.1f}; speed over plain {ratio:.3f} "
        f"(quartiles {low:.3f} to {high:.3f})"
    )
    assert ratio >= LOWEST_RATIO
