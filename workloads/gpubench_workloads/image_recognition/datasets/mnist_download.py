"""Fetching MNIST with torchvision's mirrors and checksums: one fetches, the others wait for it."""

from __future__ import annotations

import contextlib
import fcntl
import io
import socket
import tempfile
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError

from torchvision.datasets import MNIST
from torchvision.datasets.utils import download_url

from gpubench_workloads.image_recognition.datasets.idx import missing_files
from gpubench_workloads.image_recognition.datasets.idx_file import COMPRESSED_SUFFIX
from gpubench_workloads.training.errors import DataMissingError

SILENCE_SECONDS = 30.0
"""A mirror that sends nothing for so long is given up; torchvision would wait for ever."""
MIRROR_FAILURES = (URLError, HTTPException, TimeoutError, ConnectionError, RuntimeError)
"""What makes the next mirror worth a try; torchvision's RuntimeError is a wrong checksum."""


def fetch_mnist(folder: Path) -> None:
    """Put the missing ones of the four files into the folder, each whole or not at all.

    Raises:
        DataMissingError: no mirror gave a file with the right checksum, or it cannot be kept.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            for name in missing_files(folder):
                _fetch(f"{name}{COMPRESSED_SUFFIX}", folder)
    except OSError as error:
        msg = f"dataset folder {folder}: MNIST is missing and cannot be kept there ({error})"
        raise DataMissingError(msg) from error


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, which the kernel gives back when this process ends."""
    with (folder / ".download.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(name: str, folder: Path) -> None:
    """Fetch one file from the first mirror that gives it, then move it into place."""
    md5 = dict(MNIST.resources)[name]
    errors = []
    socket.setdefaulttimeout(SILENCE_SECONDS)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as partial:
        for mirror in MNIST.mirrors:
            try:
                # torchvision prints a progress bar for people; a log is no place for it.
                with contextlib.redirect_stderr(io.StringIO()):
                    download_url(f"{mirror}{name}", partial, name, md5)
            except MIRROR_FAILURES as error:
                errors.append(f"{mirror}: {error}")
                continue
            (Path(partial) / name).replace(folder / name)
            return
    msg = (
        f"MNIST's {name} is missing in {folder} and could not be fetched ({'; '.join(errors)}); "
        "put the four files there by hand, or use dataset.name: digits, which needs none"
    )
    raise DataMissingError(msg)
