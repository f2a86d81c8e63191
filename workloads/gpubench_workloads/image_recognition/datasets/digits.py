"""scikit-learn's digits: 1,797 images of 8x8, which come with the package."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from gpubench_workloads.image_recognition.datasets.image_data import (
    ArraySplit,
    ImageData,
    from_arrays,
)
from gpubench_workloads.training.errors import DataMissingError

CLASSES = 10
SIDE = 8
BRIGHTEST = 16
"""The pixels' values are 0 to 16."""
TEST_EVERY = 5
"""Of the images of each digit, in the file's order, every fifth is for testing."""
FILE = Path("datasets", "data", "digits.csv.gz")
"""Within scikit-learn. Read as a file, because importing the package takes two seconds."""


def load() -> ImageData:
    """Return the digits, always split in the same way: 1,442 to train on and 355 to test on.

    Raises:
        DataMissingError: scikit-learn is not installed.
    """
    table = np.loadtxt(_find_file(), delimiter=",", dtype=np.uint8)
    images = table[:, :-1].reshape(-1, 1, SIDE, SIDE)
    pixels = np.rint(images * (255 / BRIGHTEST)).astype(np.uint8)
    labels = table[:, -1].astype(np.int64)
    test = _is_for_testing(labels)
    return from_arrays(
        "digits",
        ArraySplit(pixels[~test], labels[~test]),
        ArraySplit(pixels[test], labels[test]),
        CLASSES,
    )


def _find_file() -> Path:
    package = importlib.util.find_spec("sklearn")
    folders = package.submodule_search_locations if package else None
    for folder in folders or ():
        if (path := Path(folder) / FILE).is_file():
            return path
    msg = f"dataset.name: digits needs scikit-learn with its {FILE}, which is not installed"
    raise DataMissingError(msg)


def _is_for_testing(
    labels: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which images [images] are for testing: the same share of each digit."""
    test = np.zeros(len(labels), dtype=np.bool_)
    for digit in range(CLASSES):
        test[np.flatnonzero(labels == digit)[TEST_EVERY - 1 :: TEST_EVERY]] = True
    return test
