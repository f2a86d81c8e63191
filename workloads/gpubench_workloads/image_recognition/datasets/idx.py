"""Datasets in MNIST's form: four IDX files, of any image size and number of classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpubench_workloads.image_recognition.datasets.idx_file import COMPRESSED_SUFFIX, IdxFile
from gpubench_workloads.image_recognition.datasets.image_data import (
    ArraySplit,
    ImageData,
    from_arrays,
)
from gpubench_workloads.training.errors import DataMissingError

TRAIN_IMAGES = "train-images-idx3-ubyte"
TRAIN_LABELS = "train-labels-idx1-ubyte"
TEST_IMAGES = "t10k-images-idx3-ubyte"
TEST_LABELS = "t10k-labels-idx1-ubyte"
FILE_NAMES = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)

LAYOUTS = (Path(), Path("raw"), Path("MNIST", "raw"))
"""Where below the dataset's folder the files may lie; the last is torchvision's layout."""


@dataclass(frozen=True)
class IdxFiles:
    """The four files of a dataset."""

    files: Mapping[str, IdxFile]

    @classmethod
    def find(cls, folder: Path) -> IdxFiles:
        """Return the files below a dataset's folder.

        Raises:
            DataMissingError: the folder, or any of the files, is not there.
        """
        missing = missing_files(folder)
        if not folder.is_dir():
            msg = f"dataset folder {folder} does not exist"
            raise DataMissingError(msg)
        if missing:
            msg = (
                f"dataset folder {folder} lacks {', '.join(missing)} "
                f"(each plain or with {COMPRESSED_SUFFIX}, also below MNIST/raw)"
            )
            raise DataMissingError(msg)
        return cls({name: file for name in FILE_NAMES if (file := _find(folder, name))})

    def read(
        self, name: str, sha256: Mapping[str, str] | None = None, classes: int | None = None
    ) -> ImageData:
        """Return the dataset.

        Args:
            name: what it is called in results.
            sha256: content that each file must have, by file name, where that is known.
            classes: how many there are; by default one more than the highest label.

        Raises:
            DataMissingError: a file is damaged, or images and labels do not fit together.
        """
        train = self._read_split(TRAIN_IMAGES, TRAIN_LABELS, sha256 or {})
        test = self._read_split(TEST_IMAGES, TEST_LABELS, sha256 or {})
        if train.images.shape[1:] != test.images.shape[1:]:
            msg = (
                f"{self.files[TEST_IMAGES].path}: images of {_size(test)} pixels, "
                f"expected {_size(train)} as in {self.files[TRAIN_IMAGES].path.name}"
            )
            raise DataMissingError(msg)
        highest = int(max(train.labels.max(), test.labels.max()))
        return from_arrays(name, train, test, classes or highest + 1)

    def _read_split(self, images: str, labels: str, sha256: Mapping[str, str]) -> ArraySplit:
        pixels = self.files[images].read(3, sha256.get(images))
        classes = self.files[labels].read(1, sha256.get(labels))
        if len(pixels) != len(classes):
            msg = (
                f"{self.files[labels].path}: {len(classes)} labels, expected {len(pixels)}: "
                f"one for each image of {self.files[images].path.name}"
            )
            raise DataMissingError(msg)
        if pixels.size == 0:
            msg = f"{self.files[images].path}: holds no image"
            raise DataMissingError(msg)
        return ArraySplit(pixels[:, np.newaxis], classes.astype(np.int64))


def missing_files(folder: Path) -> list[str]:
    """Return which of the four files are not below the folder in any form."""
    return [name for name in FILE_NAMES if _find(folder, name) is None]


def load(folder: Path) -> ImageData:
    """Return the dataset of four IDX files in the folder."""
    return IdxFiles.find(folder).read("idx")


def _find(folder: Path, name: str) -> IdxFile | None:
    return next((file for layout in LAYOUTS if (file := IdxFile.find(folder / layout, name))), None)


def _size(split: ArraySplit) -> str:
    return " x ".join(map(str, split.images.shape[2:]))
