"""IDX files made for tests."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpubench_workloads.image_recognition.datasets import idx

CLASSES = 4


def idx_content(values: NDArray[np.uint8]) -> bytes:
    """Return values as an IDX file holds them."""
    return struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + (
        values.tobytes()
    )


def write_idx_dataset(
    folder: Path, *, train: int = 20, test: int = 10, side: int = 9, compressed: bool = False
) -> None:
    """Write the four files of a dataset of random square images of four classes."""
    random = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    for count, images, labels in (
        (train, idx.TRAIN_IMAGES, idx.TRAIN_LABELS),
        (test, idx.TEST_IMAGES, idx.TEST_LABELS),
    ):
        pixels = random.integers(0, 256, (count, side, side), np.uint8)
        numbers = (np.arange(count) % CLASSES).astype(np.uint8)
        for name, values in ((images, pixels), (labels, numbers)):
            content = idx_content(values)
            if compressed:
                (folder / f"{name}.gz").write_bytes(gzip.compress(content))
            else:
                (folder / name).write_bytes(content)
