"""A folder of images as ImageNet-1K is laid out: train/<class>/* and val/<class>/*."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from gpubench_workloads.image_recognition.datasets.image_data import FileSplit, ImageData
from gpubench_workloads.training.errors import DataMissingError

TRAIN = "train"
VALIDATION = "val"
SHOWN_CLASSES = 5

# ImageNet's statistics, which torchvision's own recipes use for any folder of photographs.
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def check(folder: Path) -> list[str]:
    """Return the classes, which train/ and val/ must share.

    Raises:
        DataMissingError: a folder is missing or empty, or the classes differ.
    """
    train, validation = (_classes(folder / split) for split in (TRAIN, VALIDATION))
    if train != validation:
        only = [
            f"only in {split}/: {', '.join(sorted(names)[:SHOWN_CLASSES])}"
            for split, names in (
                (TRAIN, set(train) - set(validation)),
                (VALIDATION, set(validation) - set(train)),
            )
            if names
        ]
        msg = f"dataset folder {folder}: classes differ between train/ and val/ ({'; '.join(only)})"
        raise DataMissingError(msg)
    return train


def load(folder: Path) -> ImageData:
    """Return the files of the folder and their classes; no image is opened yet.

    Raises:
        DataMissingError: a folder is missing, a class has no image, or the classes differ.
    """
    classes = check(folder)
    train, validation = (_list_files(folder / split) for split in (TRAIN, VALIDATION))
    names = "\0".join(train.paths + validation.paths).replace(str(folder), "")
    digest = hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()
    return ImageData("image-folder", train, validation, len(classes), MEAN, STD, digest)


def _classes(folder: Path) -> list[str]:
    if not folder.is_dir():
        msg = f"dataset folder {folder} does not exist; image-folder needs train/ and val/"
        raise DataMissingError(msg)
    classes = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    if not classes:
        msg = f"dataset folder {folder} has no folder of images, one for each class"
        raise DataMissingError(msg)
    return classes


def _list_files(folder: Path) -> FileSplit:
    """Return the images of a split, taken from its classes in turn.

    In turn, because the first N of a list that is sorted by class would be of one class.
    """
    # Only now, because it imports torch.
    from torchvision.datasets import ImageFolder

    try:
        samples = ImageFolder(str(folder)).samples
    except OSError as error:
        msg = f"dataset folder {folder}: {error}"
        raise DataMissingError(msg) from error
    labels = np.array([label for _, label in samples], np.int64)
    first_of_class = np.searchsorted(labels, labels)
    place_in_class = np.arange(len(labels)) - first_of_class
    in_turn = np.lexsort((labels, place_in_class))
    return FileSplit(tuple(samples[index][0] for index in in_turn), labels[in_turn])
