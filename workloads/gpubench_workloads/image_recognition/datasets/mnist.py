"""MNIST: the four IDX files, their content verified, fetched where they are missing."""

from __future__ import annotations

from pathlib import Path

from gpubench.api.enums import Download
from gpubench_workloads.image_recognition.datasets.idx import (
    FILE_NAMES,
    TEST_IMAGES,
    TEST_LABELS,
    TRAIN_IMAGES,
    TRAIN_LABELS,
    IdxFiles,
    missing_files,
)
from gpubench_workloads.image_recognition.datasets.image_data import ImageData
from gpubench_workloads.training.errors import DataMissingError

CLASSES = 10
SHA256 = {
    TRAIN_IMAGES: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    TRAIN_LABELS: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    TEST_IMAGES: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    TEST_LABELS: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
"""Of each file's uncompressed content, so that it does not matter who compressed it."""


def load(folder: Path) -> ImageData:
    """Return MNIST from the folder; its content is verified each time.

    Raises:
        DataMissingError: a file is missing, damaged or not MNIST's.
    """
    return IdxFiles.find(folder).read("mnist", SHA256, CLASSES)


def fetch_if_missing(folder: Path, download: Download) -> None:
    """Fetch what is missing of the four files, where that is allowed.

    Raises:
        DataMissingError: files are missing and cannot be fetched, or may not be.
    """
    missing = missing_files(folder)
    if not missing:
        return
    if download is Download.NEVER:
        what = "does not exist" if len(missing) == len(FILE_NAMES) else f"lacks {missing}"
        msg = (
            f"dataset folder {folder} {what} and dataset.download: Never forbids to fetch it; "
            f"put the four MNIST files there ({', '.join(FILE_NAMES)}, plain or .gz)"
        )
        raise DataMissingError(msg)
    # Only now, because it imports torch.
    from gpubench_workloads.image_recognition.datasets.mnist_download import fetch_mnist

    fetch_mnist(folder)
