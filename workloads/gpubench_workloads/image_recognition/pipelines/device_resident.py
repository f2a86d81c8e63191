"""The DeviceResident pipeline: the dataset lies on the device as bytes and is prepared there.

No image is copied from the host while training: a batch is a handful of indices that were
shuffled on the device, and its images are gathered, resized and normalised there, with a single
channel as long as that is all they have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import psutil
import torch
from torch import Tensor
from torch.utils.data import DataLoader

from gpubench_workloads.image_recognition.datasets import ArraySplit, FileSplit, Split
from gpubench_workloads.image_recognition.pipelines.image_files import (
    WORKER_START,
    ImageFiles,
    start_loading_worker,
)
from gpubench_workloads.image_recognition.pipelines.image_format import (
    CHANNELS,
    ImagePreparation,
)
from gpubench_workloads.image_recognition.pipelines.input_pipeline import (
    InputPipeline,
    PipelineSettings,
)
from gpubench_workloads.training.errors import BadSpecError

LARGEST_SHARE = 0.8
"""Of the free memory that a dataset may take; the rest is for the training itself."""
DECODED_AT_ONCE = 64
"""Image files per batch while the folder is read."""


class DeviceResidentPipeline(InputPipeline):
    """Bytes of all images on the device, and indices into them."""

    def __init__(self, split: Split, settings: PipelineSettings) -> None:
        self._device = settings.device
        self._batch_size = settings.batch_size
        self._memory_format = settings.image_format.memory_format
        self._prepare = ImagePreparation(settings.image_format, settings.device)
        size = settings.image_format.size
        if isinstance(split, ArraySplit):
            shape = split.images.shape
            check_fits(shape, free_bytes(settings.device), settings.device)
            self._pixels = torch.from_numpy(split.images).to(settings.device)
        else:
            shape = (len(split), CHANNELS, size, size)
            check_fits(shape, free_bytes(settings.device), settings.device)
            self._pixels = decode_all(split, size, settings)
        self._labels = torch.from_numpy(split.labels).to(settings.device)

    def batches(self, order: Tensor) -> Iterator[Sequence[Tensor]]:
        return ((indices,) for indices in order.split(self._batch_size))

    def to_device(self, batch: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        (indices,) = batch
        images = self._prepare(self._pixels.index_select(0, indices))
        labels = self._labels.index_select(0, indices)
        return images.contiguous(memory_format=self._memory_format), labels

    @property
    def order_device(self) -> torch.device:
        return self._device

    @staticmethod
    def describe() -> str:
        return "bytes on the device; resized, normalised, cast and given 3 channels there"


def decode_all(split: FileSplit, size: int, settings: PipelineSettings) -> Tensor:
    """Return all images of a folder as bytes [images, 3, size, size] on the device."""
    pixels = torch.empty(
        (len(split), CHANNELS, size, size), dtype=torch.uint8, device=settings.device
    )
    loader = DataLoader(
        ImageFiles(split, size),
        DECODED_AT_ONCE,
        num_workers=settings.workers,
        multiprocessing_context=WORKER_START if settings.workers else None,
        worker_init_fn=start_loading_worker,
    )
    done = 0
    for images, _ in loader:
        pixels[done : done + len(images)] = images.to(settings.device)
        done += len(images)
    return pixels


def free_bytes(device: torch.device) -> int:
    """Return the free memory of a device; of the machine for a CPU."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return int(psutil.virtual_memory().available)


def check_fits(shape: Sequence[int], free: int, device: torch.device) -> None:
    """Check that images of [images, channels, height, width] bytes fit into free memory.

    Raises:
        BadSpecError: they do not.
    """
    needed = torch.Size(shape).numel()
    if needed <= free * LARGEST_SHARE:
        return
    size = " x ".join(map(str, shape[1:]))
    msg = (
        f"inputPipeline: DeviceResident needs {needed / 2**30:.1f} GiB for {shape[0]} images of "
        f"{size} bytes; {LARGEST_SHARE:.0%} of the {free / 2**30:.1f} GiB free on {device} are "
        "allowed: use DataLoader, or lower imageSize or dataset.trainImages"
    )
    raise BadSpecError(msg)
