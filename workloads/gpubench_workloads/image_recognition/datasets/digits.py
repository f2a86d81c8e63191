"""scikit-learn's digits: 1,797 images of 8x8, which come with the package."""

from __future__ import annotations

import numpy as np

from gpubench_workloads.image_recognition.datasets.image_data import (
    ArraySplit,
    ImageData,
    from_arrays,
)
from gpubench_workloads.image_recognition.errors import DataMissingError

CLASSES = 10
BRIGHTEST = 16
"""The pixels' values are 0 to 16."""
TEST_SHARE = 0.2
SPLIT_SEED = 0


def load() -> ImageData:
    """Return the digits, always split in the same way: 1,437 to train on and 360 to test on."""
    try:
        from sklearn.datasets import load_digits
        from sklearn.model_selection import train_test_split
    except ImportError as error:
        msg = f"dataset.name: digits needs scikit-learn, which is not installed ({error})"
        raise DataMissingError(msg) from error
    digits = load_digits()
    pixels = np.rint(digits.images * (255 / BRIGHTEST)).astype(np.uint8)[:, np.newaxis]
    labels = digits.target.astype(np.int64)
    train, test = train_test_split(
        np.arange(len(labels)), test_size=TEST_SHARE, random_state=SPLIT_SEED, stratify=labels
    )
    return from_arrays(
        "digits",
        ArraySplit(pixels[train], labels[train]),
        ArraySplit(pixels[test], labels[test]),
        CLASSES,
    )
