"""Opening image files: decoded and resized to bytes by the processor."""

from __future__ import annotations

import multiprocessing

import torch
from torch import Tensor
from torch.utils.data import Dataset
from torchvision.datasets.folder import default_loader
from torchvision.transforms.v2 import functional as transforms

from gpubench_workloads.image_recognition.datasets import FileSplit
from gpubench_workloads.reporting.die_with_parent import die_with_parent
from gpubench_workloads.training.errors import DataMissingError

WORKER_START = "fork"
"""How loading processes start: as children of their rank, with which they end, and sharing the
dataset in its memory. Python 3.14 would start them as children of a server by default."""


class ImageFiles(Dataset[tuple[Tensor, int]]):
    """The files of a split as bytes [3, size, size] with their labels."""

    def __init__(self, split: FileSplit, size: int) -> None:
        self._paths = split.paths
        self._labels = torch.from_numpy(split.labels)
        self._size = size

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        pixels = read_image(self._paths[index], self._size)
        return pixels, int(self._labels[index])


def read_image(path: str, size: int) -> Tensor:
    """Return an image file as bytes [3, size, size].

    The shorter side is resized to `size` and the middle kept, so that shapes stay as they are.

    Raises:
        DataMissingError: the file cannot be read as an image.
    """
    try:
        image = default_loader(path)
    # Pillow raises SyntaxError for a broken PNG.
    except (OSError, SyntaxError, ValueError) as error:
        msg = f"{path}: not a readable image ({error})"
        raise DataMissingError(msg) from error
    resized = transforms.center_crop(transforms.resize(image, [size], antialias=True), [size, size])
    pixels: Tensor = transforms.pil_to_tensor(resized)
    return pixels


def start_loading_worker(_worker: int) -> None:
    """Have a loading process end with its rank, and not wait for work that never comes."""
    rank = multiprocessing.parent_process()
    assert rank is not None
    die_with_parent(rank.pid)
