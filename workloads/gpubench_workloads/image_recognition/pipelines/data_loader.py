"""The DataLoader pipeline, the paper's: images are resized and batched on the host, then copied.

Each image is resized, normalised, cast to the run's format and given three channels by itself, as
a torchvision dataset with transforms does it, so that as many bytes travel as there: 2, 4 or 8
for each of 3 x size x size values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from gpubench_workloads.image_recognition.datasets import ArraySplit, Split
from gpubench_workloads.image_recognition.pipelines.image_files import (
    WORKER_START,
    ImageFiles,
    start_loading_worker,
)
from gpubench_workloads.image_recognition.pipelines.image_format import (
    ImageFormat,
    ImagePreparation,
)
from gpubench_workloads.image_recognition.pipelines.input_pipeline import (
    InputPipeline,
    PipelineSettings,
)


class HostImages(Dataset[tuple[Tensor, int]]):
    """Images in main memory as bytes [channels, height, width] with their labels."""

    def __init__(self, split: ArraySplit) -> None:
        self._pixels = torch.from_numpy(split.images)
        self._labels = split.labels.tolist()

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self._pixels[index], self._labels[index]


class PreparedImages(Dataset[tuple[Tensor, int]]):
    """The images of a dataset of bytes as the model takes them, prepared one by one."""

    def __init__(self, source: HostImages | ImageFiles, image_format: ImageFormat) -> None:
        self._source = source
        self._prepare = ImagePreparation(image_format, torch.device("cpu"))

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        pixels, label = self._source[index]
        return self._prepare(pixels.unsqueeze(0)).squeeze(0), label


class BatchOrder(Sampler[list[int]]):
    """Batches of indices in an order that is set before each epoch."""

    def __init__(self, batch_size: int) -> None:
        self._batch_size = batch_size
        self.order = torch.empty(0, dtype=torch.int64)

    def __iter__(self) -> Iterator[list[int]]:
        for indices in self.order.split(self._batch_size):
            yield indices.tolist()


class DataLoaderPipeline(InputPipeline):
    """torch.utils.data.DataLoader with workers that live as long as the pipeline."""

    def __init__(self, split: Split, settings: PipelineSettings) -> None:
        image_format = settings.image_format
        source = (
            HostImages(split)
            if isinstance(split, ArraySplit)
            else ImageFiles(split, image_format.size)
        )
        self._device = settings.device
        self._memory_format = image_format.memory_format
        self._batch_order = BatchOrder(settings.batch_size)
        self._loader = DataLoader(
            PreparedImages(source, image_format),
            batch_sampler=self._batch_order,
            num_workers=settings.workers,
            multiprocessing_context=WORKER_START if settings.workers else None,
            # Page-locked memory is a matter of GPUs; torch warns where there is none.
            pin_memory=settings.pin_memory and settings.device.type == "cuda",
            persistent_workers=settings.workers > 0,
            worker_init_fn=start_loading_worker,
            # Workers' seeds come from here and not from the generator of dropout.
            generator=torch.Generator().manual_seed(0),
        )

    def batches(self, order: Tensor) -> Iterator[Sequence[Tensor]]:
        self._batch_order.order = order
        return iter(self._loader)

    def to_device(self, batch: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        images, labels = (tensor.to(self._device, non_blocking=True) for tensor in batch)
        return images.contiguous(memory_format=self._memory_format), labels

    @property
    def order_device(self) -> torch.device:
        return torch.device("cpu")

    @staticmethod
    def describe() -> str:
        return "resized, normalised, cast and given 3 channels on the host, image by image"
