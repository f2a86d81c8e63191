"""Both pipelines: the same images in the same order, wherever they are prepared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torchvision.transforms.v2 import functional as transforms

from gpubench.api.enums import InputPipeline as PipelineName
from gpubench_workloads.image_recognition.datasets import ArraySplit, Split, image_folder
from gpubench_workloads.image_recognition.pipelines import (
    PIPELINES,
    ImageFormat,
    InputPipeline,
    PipelineSettings,
)
from gpubench_workloads.image_recognition.pipelines import device_resident as resident
from gpubench_workloads.training.errors import BadSpecError
from tests.unit.image_recognition.test_image_folder import write_image

CPU = torch.device("cpu")
NAMES = list(PipelineName)
RANDOM = np.random.default_rng(0)
GREY = ArraySplit(
    RANDOM.integers(0, 256, (23, 1, 9, 9), np.uint8), np.arange(23, dtype=np.int64) % 7
)


def pipeline(
    name: PipelineName,
    split: Split = GREY,
    size: int = 16,
    dtype: torch.dtype = torch.float32,
    workers: int = 0,
    memory_format: torch.memory_format = torch.contiguous_format,
) -> InputPipeline:
    channels = 1 if isinstance(split, ArraySplit) else 3
    image_format = ImageFormat(size, (0.25,) * channels, (0.5,) * channels, dtype, memory_format)
    settings = PipelineSettings(image_format, CPU, 8, workers, pin_memory=False)
    return PIPELINES[name](split, settings)


def everything(source: InputPipeline, order: list[int]) -> tuple[Tensor, Tensor, list[int]]:
    batches = [source.to_device(b) for b in source.batches(torch.tensor(order))]
    images, labels = (torch.cat(parts) for parts in zip(*batches, strict=True))
    return images, labels, [len(labels) for _, labels in batches]


@pytest.fixture
def files(tmp_path: Path) -> Split:
    """Return seven photographs of two classes."""
    for number in range(7):
        write_image(tmp_path / "train" / str(number % 2) / f"{number}.png", 20 + number, 25)
    for name in ("0", "1"):
        write_image(tmp_path / "val" / name / "1.png")
    return image_folder.load(tmp_path).train


def test_no_pipeline_is_forgotten() -> None:
    assert set(PIPELINES) == set(PipelineName)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("workers", [0, 2])
def test_images_come_in_order_and_in_batches(name: PipelineName, workers: int) -> None:
    order = [5, 3, 22, 0, 3, 1, 2, 8, 9, 10, 4]
    source = pipeline(name, workers=workers)
    for _ in range(2):  # as in two epochs
        images, labels, sizes = everything(source, order)
        assert labels.tolist() == [i % 7 for i in order]
        assert sizes == [8, 3]
        assert images.shape == (11, 3, 16, 16)
        assert torch.equal(images[1], images[4])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [5, 9, 32])
def test_pipelines_agree_on_every_pixel(dtype: torch.dtype, size: int) -> None:
    order = list(range(23))
    host, device = (everything(pipeline(n, size=size, dtype=dtype), order)[0] for n in NAMES)
    assert host.dtype is device.dtype is dtype
    assert torch.equal(host, device)


def test_pipelines_agree_on_files(files: Split) -> None:
    order = [3, 1, 6, 0]
    (host, labels, _), (device, same_labels, _) = (
        everything(pipeline(name, files, workers=2), order) for name in NAMES
    )
    assert torch.equal(host, device)
    assert labels.tolist() == same_labels.tolist() == [files.labels[i] for i in order]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [5, 9, 32])
def test_images_are_prepared_as_torchvision_does(name: PipelineName, size: int) -> None:
    images, _, _ = everything(pipeline(name, size=size), list(range(23)))
    pixels = torch.from_numpy(GREY.images).to(torch.float32) / 255
    expected = transforms.resize(pixels, [size, size], antialias=True)
    expected = transforms.normalize(expected.expand(-1, 3, -1, -1), [0.25] * 3, [0.5] * 3)
    torch.testing.assert_close(images, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last], ids=str)
def test_batches_lie_in_memory_as_asked(
    name: PipelineName, memory_format: torch.memory_format
) -> None:
    source = pipeline(name, memory_format=memory_format)
    images, _ = source.to_device(next(source.batches(torch.arange(8))))
    assert images.is_contiguous(memory_format=memory_format)


def test_the_loader_copies_images_in_the_runs_format() -> None:
    """Three channels of two bytes each for FP16: what the paper's transfers are made of."""
    source = pipeline(PipelineName.DATA_LOADER, dtype=torch.float16)
    images, _ = next(source.batches(torch.arange(8)))
    assert images.numel() * images.element_size() == images.untyped_storage().nbytes()
    assert images.untyped_storage().nbytes() == 8 * 3 * 16 * 16 * 2


def test_the_resident_pipeline_moves_indices_only() -> None:
    source = pipeline(PipelineName.DEVICE_RESIDENT)
    (indices,) = next(source.batches(torch.arange(8)))
    assert indices.tolist() == list(range(8))


def test_a_dataset_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident, "free_bytes", lambda _: 23 * 81 / 0.8 - 1)
    with pytest.raises(BadSpecError) as caught:
        pipeline(PipelineName.DEVICE_RESIDENT)
    message = str(caught.value)
    assert message.startswith("inputPipeline: DeviceResident needs 0.0 GiB for 23 images of 1 x 9")
    assert "use DataLoader" in message


def test_files_are_measured_at_their_resized_size(
    files: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resident, "free_bytes", lambda _: 7 * 3 * 16 * 16)
    with pytest.raises(BadSpecError, match="7 images of 3 x 16 x 16 bytes"):
        pipeline(PipelineName.DEVICE_RESIDENT, files)


def test_a_dataset_that_just_fits_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident, "free_bytes", lambda _: 23 * 81 / 0.8)
    assert everything(pipeline(PipelineName.DEVICE_RESIDENT), [0])[2] == [1]
