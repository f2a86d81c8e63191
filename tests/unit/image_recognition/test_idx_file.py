"""The IDX parser, on files made here and on damaged ones."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from gpubench_workloads.image_recognition.datasets.idx_file import IdxFile, parse_idx
from gpubench_workloads.training.errors import DataMissingError
from tests.unit.image_recognition.idx_files import idx_content

IMAGES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
byte_arrays = arrays(np.uint8, array_shapes(max_dims=4, min_side=0))


@settings(deadline=None)
@given(byte_arrays)
def test_what_was_written_is_read(values: np.ndarray) -> None:
    read = parse_idx(idx_content(values), values.ndim, "file")
    assert read.shape == values.shape
    assert np.array_equal(read, values)
    assert read.flags.writeable


@settings(deadline=None)
@given(byte_arrays, st.data())
def test_no_cut_file_is_read(values: np.ndarray, data: st.DataObject) -> None:
    content = idx_content(values)
    length = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(DataMissingError, match="cut off"):
        parse_idx(content[:length], values.ndim, "file")


def error_of(content: bytes, dimensions: int = 3) -> str:
    with pytest.raises(DataMissingError) as caught:
        parse_idx(content, dimensions, "images")
    return str(caught.value)


def test_a_cut_file_tells_both_lengths() -> None:
    content = idx_content(IMAGES)[:-5]
    assert error_of(content) == "images: cut off: 35 bytes, expected 40 for 2 x 3 x 4 values"


def test_a_file_that_is_too_long_tells_both_lengths() -> None:
    content = idx_content(IMAGES) + b"x"
    assert error_of(content) == "images: too long: 41 bytes, expected 40 for 2 x 3 x 4 values"


def test_an_empty_file_is_cut() -> None:
    assert error_of(b"") == "images: cut off: 0 bytes, its header alone needs 16"


@pytest.mark.parametrize(
    ("content", "magic"),
    [(idx_content(IMAGES[0, 0]) + bytes(16), "0x00000801"), (b"\x89PNG" + bytes(20), "0x89504e47")],
)
def test_another_format_tells_both_magic_numbers(content: bytes, magic: str) -> None:
    assert error_of(content).endswith(f"magic number {magic}, expected 0x00000803")


def test_plain_and_gzip_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(idx_content(IMAGES))
    (tmp_path / "packed.gz").write_bytes(gzip.compress(idx_content(IMAGES)))
    for name in ("plain", "packed"):
        file = IdxFile.find(tmp_path, name)
        assert file is not None
        assert np.array_equal(file.read(3), IMAGES)


def test_plain_comes_before_gzip(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(idx_content(IMAGES))
    (tmp_path / "file.gz").write_bytes(b"not read")
    assert IdxFile.find(tmp_path, "file") == IdxFile(tmp_path / "file")


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    assert IdxFile.find(tmp_path, "file") is None


PACKED = gzip.compress(idx_content(IMAGES))


@pytest.mark.parametrize(
    "content",
    [PACKED[:-10], PACKED[:12], PACKED[:12] + bytes(20) + PACKED[32:], idx_content(IMAGES)],
    ids=["cut", "header only", "overwritten", "not packed"],
)
def test_a_damaged_gzip_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(content)
    with pytest.raises(DataMissingError, match=r"file\.gz: not a whole gzip file"):
        IdxFile(path).read(3)


def test_content_is_checked_whoever_compressed_it(tmp_path: Path) -> None:
    content = idx_content(IMAGES)
    expected = hashlib.sha256(content).hexdigest()
    for level in (1, 9):
        path = tmp_path / f"{level}.gz"
        path.write_bytes(gzip.compress(content, level))
        assert np.array_equal(IdxFile(path).read(3, expected), IMAGES)


def test_other_content_tells_both_checksums(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(idx_content(IMAGES))
    with pytest.raises(DataMissingError) as caught:
        IdxFile(path).read(3, "0" * 64)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    assert f"SHA-256 {found}, expected {'0' * 64}" in str(caught.value)
