"""Folders of image files: their classes, their order, and pixels that both pipelines agree on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torchvision.utils import save_image

from gpubench_workloads.image_recognition.datasets import (
    DataMissingError,
    FileSplit,
    check_dataset,
    image_folder,
    load_dataset,
)
from gpubench_workloads.image_recognition.pipelines.image_files import read_image
from tests.unit.image_recognition.specs import image_spec

DATASET = {"name": "image-folder", "path": "photos"}


def write_image(path: Path, height: int = 12, width: int = 9) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    seed = torch.Generator().manual_seed(len(str(path)))
    save_image(torch.rand(3, height, width, generator=seed), path)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Return train/ with 3 cats and 2 dogs, val/ with one of each."""
    folder = tmp_path / "photos"
    for name in ("train/cat/1.png", "train/cat/2.jpg", "train/cat/3.png", "train/dog/1.png"):
        write_image(folder / name)
    for name in ("train/dog/2.png", "val/cat/4.png", "val/dog/3.jpeg"):
        write_image(folder / name)
    return folder


def error_of(folder: Path) -> str:
    with pytest.raises(DataMissingError) as caught:
        image_folder.load(folder)
    return str(caught.value)


def test_classes_are_the_folders(photos: Path) -> None:
    data = image_folder.load(photos)
    assert (data.classes, len(data.train), len(data.test)) == (2, 5, 2)


def test_limits_take_images_of_all_classes(photos: Path) -> None:
    limited = {**DATASET, "trainImages": 3}
    spec = image_spec(dataset=limited).model_copy(update={"data_root": str(photos.parent)})
    check_dataset(spec)
    train = load_dataset(spec).train
    assert isinstance(train, FileSplit)
    assert [Path(path).parent.name for path in train.paths] == ["cat", "dog", "cat"]
    assert train.labels.tolist() == [0, 1, 0]


def test_the_same_folder_elsewhere_is_the_same_dataset(photos: Path, tmp_path: Path) -> None:
    before = image_folder.load(photos).sha256
    moved = photos.rename(tmp_path / "moved")
    assert image_folder.load(moved).sha256 == before
    write_image(moved / "train" / "cat" / "new.png")
    assert image_folder.load(moved).sha256 != before


def test_classes_that_differ_are_named(photos: Path) -> None:
    write_image(photos / "val" / "cow" / "1.png")
    (photos / "train" / "emu").mkdir()
    assert error_of(photos).endswith(
        "classes differ between train/ and val/ (only in train/: emu; only in val/: cow)"
    )


def test_a_class_without_images_is_named(photos: Path) -> None:
    (photos / "val" / "dog" / "3.jpeg").unlink()
    assert "Found no valid file for the classes dog" in error_of(photos)


def test_a_missing_split_is_named(tmp_path: Path) -> None:
    assert error_of(tmp_path) == (
        f"dataset folder {tmp_path}/train does not exist; image-folder needs train/ and val/"
    )


@pytest.mark.parametrize(("height", "width"), [(12, 9), (9, 12), (64, 64), (8, 8)])
def test_images_are_square_and_undistorted(tmp_path: Path, height: int, width: int) -> None:
    path = tmp_path / "image.png"
    write_image(path, height, width)
    pixels = read_image(str(path), 8)
    assert (pixels.dtype, pixels.shape) == (torch.uint8, (3, 8, 8))


def test_the_middle_of_an_image_is_kept(tmp_path: Path) -> None:
    stripes = torch.zeros(3, 8, 24)
    stripes[:, :, 8:16] = 1
    save_image(stripes, tmp_path / "image.png")
    assert read_image(str(tmp_path / "image.png"), 8).eq(255).all()


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n broken"])
def test_a_file_that_is_no_image_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(DataMissingError, match=r"broken\.png: not a readable image") as caught:
        read_image(str(path), 8)
    assert "\n" not in str(caught.value)


def test_paths_and_labels_stay_together(photos: Path) -> None:
    data = image_folder.load(photos)
    assert isinstance(data.train, FileSplit)
    names = [Path(path).parent.name for path in data.train.paths]
    assert np.array_equal(data.train.labels, [("cat", "dog").index(name) for name in names])
