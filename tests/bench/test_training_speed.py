"""gpubench's training loop beside a plain one: same model, same files, step by step in turn.

Ours does what the plain loop does, and measures itself besides; that must cost nothing. Both load
images in this process and compute in its only thread, so that the processor's time tells all that
they do, whoever else is at work on the machine. The process keeps the memory that they free.
"""

from __future__ import annotations

import ctypes
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles

import pytest

from gpubench_workloads.image_recognition.plan import RunPlan
from gpubench_workloads.image_recognition.setup import (
    build_network,
    build_trainer,
    prepare_torch,
)
from gpubench_workloads.reporting.progress_writer import ProgressWriter
from gpubench_workloads.training.progress import TrainingProgress
from gpubench_workloads.training.step_clock import StepRecord
from tests.bench.plain_training_loop import plain_steps
from tests.unit.image_recognition.idx_files import write_idx_dataset
from tests.unit.image_recognition.specs import image_spec

WARMUP_STEPS = 5
LOWEST_RATIO = 0.98
"""Of gpubench's speed to the plain loop's, the median over all pairs of steps."""
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""From malloc.h."""
USUAL_TRIM_THRESHOLD, USUAL_MMAP_MAX = 128 * 1024, 65_536


@pytest.fixture(autouse=True)
def _freed_memory_is_kept() -> Iterator[None]:
    """Have the C library keep what tensors free for the tensors of the next step.

    By default it gives large blocks back to the kernel, or does not, as the blocks happen to lie.
    Getting them anew costs up to a third of a step, in either loop and another one in each process.
    """
    library = ctypes.CDLL(None)
    assert library.mallopt(M_MMAP_MAX, 0)
    assert library.mallopt(M_TRIM_THRESHOLD, -1)
    yield
    library.mallopt(M_MMAP_MAX, USUAL_MMAP_MAX)
    library.mallopt(M_TRIM_THRESHOLD, USUAL_TRIM_THRESHOLD)
    library.malloc_trim(0)


class TurnTaking(TrainingProgress):
    """Lets the plain loop do a step after each of ours, and takes the time of both."""

    def __init__(self, writer: ProgressWriter, plain: Iterator[float]) -> None:
        super().__init__(writer)
        self._plain = plain
        self._our_start = 0.0
        self.pairs: list[tuple[float, float]] = []
        """Processor seconds of our step and of the plain step after it."""

    def training(
        self, records: Sequence[StepRecord], loss: float | None, *, force: bool = False
    ) -> None:
        super().training(records, loss, force=force)
        if force:
            return  # the end of the epoch
        plain_start = time.process_time()
        next(self._plain)
        end = time.process_time()
        self.pairs.append((plain_start - self._our_start, end - plain_start))
        self._our_start = end


def pairs_of_steps(
    root: Path, output: Path, pipeline: str, image_size: int, batch_size: int
) -> list[tuple[float, float]]:
    """Return the processor seconds of each of our steps and of the plain step after it."""
    spec = image_spec(
        dataset={"name": "idx", "path": root.name},
        inputPipeline=pipeline,
        imageSize=image_size,
        batchSize=batch_size,
    )
    plan = RunPlan.make(spec.model_copy(update={"data_root": str(root.parent)}))
    prepare_torch(plan)
    writer = ProgressWriter(output, enabled=True)
    turns = TurnTaking(writer, plain_steps(root, image_size, batch_size))
    build_trainer(plan, build_network(plan), turns, output).train_epoch(1)
    return turns.pairs[WARMUP_STEPS:]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("image_size", "batch_size", "steps"), [(32, 64, 60), (100, 32, 40), (224, 16, 20)]
)
@pytest.mark.parametrize("pipeline", ["DataLoader", "DeviceResident"])
def test_our_loop_is_as_fast_as_a_plain_one(
    tmp_path: Path, pipeline: str, image_size: int, batch_size: int, steps: int
) -> None:
    root = tmp_path / "images"
    images = batch_size * (steps + WARMUP_STEPS)
    write_idx_dataset(root / "MNIST" / "raw", train=images, side=28)
    pairs = pairs_of_steps(root, tmp_path, pipeline, image_size, batch_size)
    ours, plain = (batch_size / median(seconds) for seconds in zip(*pairs, strict=True))
    ratios = [plain_seconds / our_seconds for our_seconds, plain_seconds in pairs]
    low, ratio, high = quantiles(ratios, n=4)
    print(
        f"\n{pipeline}, {image_size} px, batch {batch_size}, {len(pairs)} pairs of steps: "
        f"{ours:.1f} images a processor second, plain {plain:.1f}; speed over plain {ratio:.3f} "
        f"(quartiles {low:.3f} to {high:.3f}); {peak_memory() / 2**30:.1f} GiB at most"
    )
    assert ratio >= LOWEST_RATIO


def peak_memory() -> int:
    """Return the most bytes that this process has held so far."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
