"""Datasets: found, verified, described and limited."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from gpubench_workloads.image_recognition.datasets import (
    ArraySplit,
    DataMissingError,
    check_dataset,
    digits,
    idx,
    image_data,
    load_dataset,
)
from gpubench_workloads.training.errors import BadSpecError
from tests.unit.image_recognition.idx_files import write_idx_dataset
from tests.unit.image_recognition.specs import image_spec

IDX = {"name": "idx", "path": "images"}


def missing(dataset: Mapping[str, object], data_root: Path) -> str:
    spec = image_spec(dataset=dataset).model_copy(update={"data_root": str(data_root)})
    with pytest.raises(DataMissingError) as caught:
        check_dataset(spec)
    return str(caught.value)


def test_digits_are_always_split_in_the_same_way() -> None:
    data = digits.load()
    assert (len(data.train), len(data.test), data.classes) == (1442, 355, 10)
    assert data.sha256 == digits.load().sha256
    assert isinstance(data.train, ArraySplit)
    assert isinstance(data.test, ArraySplit)
    assert data.train.images.shape == (1442, 1, 8, 8)
    assert data.train.images.max() == 255
    # Stratified: each class has its fifth in the test set.
    ratio = np.bincount(data.test.labels) / np.bincount(data.train.labels)
    assert np.allclose(ratio, 0.25, atol=0.02)


@pytest.mark.parametrize("layout", idx.LAYOUTS, ids=str)
@pytest.mark.parametrize("compressed", [False, True])
def test_idx_files_are_found_in_every_layout(
    tmp_path: Path, layout: Path, compressed: bool
) -> None:
    write_idx_dataset(tmp_path / "images" / layout, compressed=compressed)
    spec = image_spec(dataset=IDX).model_copy(update={"data_root": str(tmp_path)})
    check_dataset(spec)
    data = load_dataset(spec)
    assert (len(data.train), len(data.test), data.classes) == (20, 10, 4)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert missing(IDX, tmp_path) == f"dataset folder {tmp_path}/images does not exist"


def test_every_missing_file_is_named(tmp_path: Path) -> None:
    write_idx_dataset(tmp_path / "images")
    (tmp_path / "images" / idx.TEST_LABELS).unlink()
    (tmp_path / "images" / idx.TRAIN_IMAGES).unlink()
    assert f"lacks {idx.TRAIN_IMAGES}, {idx.TEST_LABELS} " in missing(IDX, tmp_path)


def test_labels_for_fewer_images_are_refused(tmp_path: Path) -> None:
    write_idx_dataset(tmp_path / "images")
    write_idx_dataset(tmp_path / "other", train=19)
    (tmp_path / "other" / idx.TRAIN_LABELS).replace(tmp_path / "images" / idx.TRAIN_LABELS)
    assert "19 labels, expected 20" in missing(IDX, tmp_path)


def test_a_dataset_without_images_is_refused(tmp_path: Path) -> None:
    write_idx_dataset(tmp_path / "images", test=0)
    assert missing(IDX, tmp_path).endswith("holds no image")


def test_other_images_are_not_taken_for_mnist(tmp_path: Path) -> None:
    write_idx_dataset(tmp_path / "mnist")
    message = missing({"name": "mnist"}, tmp_path)
    assert f"{idx.TRAIN_IMAGES}: content has SHA-256" in message
    assert "dataset.name: idx" in message


def test_mnist_that_may_not_be_fetched_is_missing(tmp_path: Path) -> None:
    message = missing({"name": "mnist", "download": "Never"}, tmp_path)
    assert message.startswith(
        f"dataset folder {tmp_path}/mnist does not exist and dataset.download: Never forbids"
    )
    assert not (tmp_path / "mnist").exists()


def test_limits_take_the_first_images(tmp_path: Path) -> None:
    write_idx_dataset(tmp_path / "images")
    limits = {"trainImages": 7, "testImages": 3}
    spec = image_spec(dataset={**IDX, **limits}).model_copy(update={"data_root": str(tmp_path)})
    whole = idx.load(tmp_path / "images")
    data = load_dataset(spec)
    assert isinstance(data.train, ArraySplit)
    assert isinstance(whole.train, ArraySplit)
    assert np.array_equal(data.train.images, whole.train.images[:7])
    assert len(data.test) == 3
    assert data.sha256 == whole.sha256
    assert data.describe()["trainImages"] == "7"


def test_a_limit_beyond_the_dataset_is_refused() -> None:
    with pytest.raises(BadSpecError) as caught:
        load_dataset(image_spec(dataset={"name": "digits", "trainImages": 1443}))
    assert str(caught.value) == (
        "dataset.trainImages: 1443 is more than digits has; allowed: 1 to 1442"
    )


def test_pixel_statistics_are_those_of_numpy() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (50, 3, 9, 9), np.uint8)
    mean, std = image_data.pixel_statistics(pixels)
    assert np.allclose(mean, (pixels / 255).mean(axis=(0, 2, 3)))
    assert np.allclose(std, (pixels / 255).std(axis=(0, 2, 3)))


def test_images_of_one_colour_can_be_normalised() -> None:
    _, std = image_data.pixel_statistics(np.full((5, 1, 4, 4), 7, np.uint8))
    assert std == (1 / 255,)


def test_preflight_needs_no_torch(tmp_path: Path) -> None:
    """Or every preflight would take some five seconds more."""
    write_idx_dataset(tmp_path / "images")
    spec = image_spec(dataset=IDX).model_copy(update={"data_root": str(tmp_path)})
    program = (
        "import sys\n"
        "from gpubench.api.run_spec import RunSpec\n"
        "from gpubench_workloads.image_recognition.datasets import check_dataset\n"
        "check_dataset(RunSpec.model_validate_json(sys.argv[1]))\n"
        "assert 'torch' not in sys.modules\n"
    )
    command = [sys.executable, "-c", program, spec.model_dump_json(by_alias=True)]
    subprocess.run(command, check=True, env=dict(os.environ))
