"""A dataset in memory, or as a list of files: what every source hands to the pipelines."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpubench_workloads.training.errors import BadSpecError

PIXEL_VALUES = 256


@dataclass(frozen=True)
class ArraySplit:
    """Images of one size, all in memory."""

    images: NDArray[np.uint8]
    """[images, channels, height, width], 0 to 255."""
    labels: NDArray[np.int64]
    """[images], from 0."""

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, count: int) -> ArraySplit:
        """Return the first `count` images."""
        return ArraySplit(self.images[:count], self.labels[:count])


@dataclass(frozen=True)
class FileSplit:
    """Images of any size, one file each."""

    paths: tuple[str, ...]
    """[images]."""
    labels: NDArray[np.int64]
    """[images], from 0."""

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, count: int) -> FileSplit:
        """Return the first `count` images."""
        return FileSplit(self.paths[:count], self.labels[:count])


Split = ArraySplit | FileSplit


@dataclass(frozen=True)
class ImageData:
    """A dataset: images to train on, images to test on, and how to normalise them."""

    name: str
    train: Split
    test: Split
    classes: int
    mean: tuple[float, ...]
    """Of each channel, on a scale of 0 to 1."""
    std: tuple[float, ...]
    """Of each channel, on a scale of 0 to 1."""
    sha256: str
    """Of the whole content, whatever part of it is used; of the file names for an image folder."""

    def describe(self) -> dict[str, str]:
        """Return what a result's provenance says about the dataset."""
        return {
            "name": self.name,
            "trainImages": str(len(self.train)),
            "testImages": str(len(self.test)),
            "classes": str(self.classes),
            "mean": " ".join(f"{value:.4f}" for value in self.mean),
            "std": " ".join(f"{value:.4f}" for value in self.std),
            "sha256": self.sha256,
        }


def from_arrays(name: str, train: ArraySplit, test: ArraySplit, classes: int) -> ImageData:
    """Return a dataset of arrays, normalised by the statistics of its training images."""
    mean, std = pixel_statistics(train.images)
    digest = hash_arrays((train.images, train.labels, test.images, test.labels))
    return ImageData(name, train, test, classes, mean, std, digest)


def pixel_statistics(
    images: NDArray[np.uint8],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of each channel on a scale of 0 to 1.

    Counted from a histogram, so exact and without a copy in floating point. The deviation is one
    grey step at least, so that images of a single colour are not divided by zero.
    """
    values = np.arange(PIXEL_VALUES) / (PIXEL_VALUES - 1)
    means, deviations = [], []
    for channel in range(images.shape[1]):
        counts = np.bincount(images[:, channel].reshape(-1), minlength=PIXEL_VALUES)
        mean = float(np.average(values, weights=counts))
        variance = float(np.average((values - mean) ** 2, weights=counts))
        means.append(mean)
        deviations.append(max(variance**0.5, float(values[1])))
    return tuple(means), tuple(deviations)


def hash_arrays(arrays: Sequence[NDArray[np.generic]]) -> str:
    """Return the SHA-256 of the arrays' content, one after the other."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def limited(data: ImageData, train_images: int | None, test_images: int | None) -> ImageData:
    """Return the dataset cut to the first images of each split, where a limit is given.

    Raises:
        BadSpecError: a limit is more than there is.
    """
    return ImageData(
        name=data.name,
        train=_first(data.train, train_images, "trainImages", data.name),
        test=_first(data.test, test_images, "testImages", data.name),
        classes=data.classes,
        mean=data.mean,
        std=data.std,
        sha256=data.sha256,
    )


def _first(split: Split, count: int | None, field: str, name: str) -> Split:
    if count is None:
        return split
    if count > len(split):
        msg = f"dataset.{field}: {count} is more than {name} has; allowed: 1 to {len(split)}"
        raise BadSpecError(msg)
    return split.first(count)
