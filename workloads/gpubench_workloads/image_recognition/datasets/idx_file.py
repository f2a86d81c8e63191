"""The IDX format of MNIST: a magic number, the dimensions, then one byte per value.

    bytes 0-1   zero
    byte  2     type of the values: 8 for unsigned bytes
    byte  3     number of dimensions
    then        each dimension as a big-endian 32-bit integer
    then        the values, last dimension fastest

http://yann.lecun.com/exdb/mnist/ describes it.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpubench_workloads.training.errors import DataMissingError

UNSIGNED_BYTES = 0x08
COMPRESSED_SUFFIX = ".gz"


@dataclass(frozen=True)
class IdxFile:
    """One IDX file of unsigned bytes, plain or gzip."""

    path: Path

    @classmethod
    def find(cls, folder: Path, name: str) -> IdxFile | None:
        """Return the file of this name in the folder, plain before gzip; None without either."""
        for path in (folder / name, folder / f"{name}{COMPRESSED_SUFFIX}"):
            if path.is_file():
                return cls(path)
        return None

    def read(self, dimensions: int, sha256: str | None = None) -> NDArray[np.uint8]:
        """Return the values, [dimension 0, dimension 1, ...].

        Args:
            dimensions: how many there must be: 3 for images, 1 for labels.
            sha256: what the uncompressed content must hash to, if that is known.

        Raises:
            DataMissingError: the file is cut, damaged, of another form or of other content.
        """
        content = self._content()
        values = parse_idx(content, dimensions, str(self.path))
        if sha256 is not None:
            self._check_content(content, sha256)
        return values

    def _content(self) -> bytes:
        try:
            content = self.path.read_bytes()
            if self.path.suffix == COMPRESSED_SUFFIX:
                return gzip.decompress(content)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            msg = f"{self.path}: not a whole gzip file ({error}); fetch it again"
            raise DataMissingError(msg) from error
        except OSError as error:
            msg = f"{self.path}: cannot be read ({error.strerror})"
            raise DataMissingError(msg) from error
        return content

    def _check_content(self, content: bytes, expected: str) -> None:
        found = hashlib.sha256(content).hexdigest()
        if found != expected:
            msg = (
                f"{self.path}: content has SHA-256 {found}, expected {expected}; it is another "
                "dataset (then use dataset.name: idx) or was changed"
            )
            raise DataMissingError(msg)


def parse_idx(content: bytes, dimensions: int, source: str) -> NDArray[np.uint8]:
    """Return the values of an IDX file's uncompressed content; errors name `source`."""
    expected_magic = UNSIGNED_BYTES << 8 | dimensions
    header_bytes = 4 * (1 + dimensions)
    if len(content) < header_bytes:
        msg = f"{source}: cut off: {len(content)} bytes, its header alone needs {header_bytes}"
        raise DataMissingError(msg)
    magic, *shape = struct.unpack_from(f">{1 + dimensions}I", content)
    if magic != expected_magic:
        msg = (
            f"{source}: not an IDX file of {dimensions} dimension(s) of unsigned bytes: "
            f"magic number {magic:#010x}, expected {expected_magic:#010x}"
        )
        raise DataMissingError(msg)
    expected_bytes = header_bytes + math.prod(shape)
    if len(content) != expected_bytes:
        state = "cut off" if len(content) < expected_bytes else "too long"
        msg = (
            f"{source}: {state}: {len(content)} bytes, expected {expected_bytes} "
            f"for {' x '.join(map(str, shape))} values"
        )
        raise DataMissingError(msg)
    # A copy, because torch warns of arrays that it cannot write to.
    return np.frombuffer(content, np.uint8, offset=header_bytes).reshape(shape).copy()
