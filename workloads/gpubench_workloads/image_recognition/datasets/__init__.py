"""The datasets by name. A new one is a file here and an entry in `SOURCES`.

Importing this imports no torch, so that the supervisor's preflight stays quick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpubench.api.enums import DatasetName
from gpubench.api.image_recognition import ImageDataset, ImageRecognition
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.image_recognition.datasets import (
    digits,
    idx,
    image_folder,
    mnist,
)
from gpubench_workloads.image_recognition.datasets.image_data import (
    ArraySplit,
    FileSplit,
    ImageData,
    Split,
    limited,
)
from gpubench_workloads.training.errors import DataMissingError

__all__ = [
    "ArraySplit",
    "DataMissingError",
    "FileSplit",
    "ImageData",
    "Split",
    "check_dataset",
    "load_dataset",
]


@dataclass(frozen=True)
class DatasetSource:
    """How a dataset is looked for and read; both take its settings and its folder."""

    check: Callable[[ImageDataset, Path], object]
    """Fetch it if need be and verify it, without torch if it can."""
    load: Callable[[Path], ImageData]
    """Read it."""


def _check_mnist(dataset: ImageDataset, folder: Path) -> None:
    mnist.fetch_if_missing(folder, dataset.download)
    mnist.load(folder)


SOURCES = {
    DatasetName.DIGITS: DatasetSource(
        check=lambda _dataset, _folder: digits.load(), load=lambda _folder: digits.load()
    ),
    DatasetName.MNIST: DatasetSource(check=_check_mnist, load=mnist.load),
    DatasetName.IDX: DatasetSource(check=lambda _dataset, folder: idx.load(folder), load=idx.load),
    DatasetName.IMAGE_FOLDER: DatasetSource(
        check=lambda _dataset, folder: image_folder.check(folder), load=image_folder.load
    ),
}


def dataset_folder(spec: RunSpec) -> Path:
    """Return where a run's dataset lies: below the data root, by default under its own name."""
    dataset = _workload(spec).dataset
    return Path(spec.data_root) / (dataset.path or dataset.name)


def check_dataset(spec: RunSpec) -> None:
    """Fetch a run's dataset if it is missing and may be fetched, and verify that it is whole.

    Raises:
        DataMissingError: it is not there, or not what it should be.
    """
    dataset = _workload(spec).dataset
    SOURCES[dataset.name].check(dataset, dataset_folder(spec))


def load_dataset(spec: RunSpec) -> ImageData:
    """Read a run's dataset, cut to the images that the spec asks for; nothing is fetched.

    Raises:
        DataMissingError: it is not there, or not what it should be.
        BadSpecError: more images are asked for than there are.
    """
    dataset = _workload(spec).dataset
    data = SOURCES[dataset.name].load(dataset_folder(spec))
    return limited(data, dataset.train_images, dataset.test_images)


def _workload(spec: RunSpec) -> ImageRecognition:
    workload = spec.workload.image_recognition
    assert workload is not None, "the supervisor starts each workload's own program"
    return workload
