"""Fetching MNIST, from mirrors that this test serves itself."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from torchvision.datasets import MNIST

from gpubench.api.enums import Download
from gpubench_workloads.image_recognition.datasets import DataMissingError, idx, mnist
from tests.unit.image_recognition.idx_files import write_idx_dataset


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves a folder and counts what is asked for."""

    requested: list[str]

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        QuietHandler.requested.append(self.path)
        with contextlib.suppress(ConnectionError):
            super().do_GET()


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is served as MNIST's only mirror, holding a small dataset in its place."""
    served = tmp_path / "mirror"
    write_idx_dataset(served, compressed=True)
    QuietHandler.requested = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(served)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    md5 = {
        path.name: hashlib.md5(path.read_bytes()).hexdigest() for path in sorted(served.iterdir())
    }
    sha256 = {
        path.name.removesuffix(".gz"): hashlib.sha256(
            gzip.decompress(path.read_bytes())
        ).hexdigest()
        for path in sorted(served.iterdir())
    }
    monkeypatch.setattr(MNIST, "resources", list(md5.items()))
    monkeypatch.setattr(MNIST, "mirrors", [f"http://127.0.0.1:{server.server_port}/"])
    monkeypatch.setattr(mnist, "SHA256", sha256)
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


def fetched(folder: Path) -> list[str]:
    """Return what lies in the folder, the lock left out."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_missing_files_are_fetched_and_verified(mirror: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "mnist"
    mnist.fetch_if_missing(folder, Download.IF_MISSING)
    assert fetched(folder) == sorted(path.name for path in mirror.iterdir())
    assert len(mnist.load(folder).train) == 20


@pytest.mark.usefixtures("mirror")
def test_only_what_is_missing_is_fetched(tmp_path: Path) -> None:
    folder = tmp_path / "mnist"
    mnist.fetch_if_missing(folder, Download.IF_MISSING)
    (folder / f"{idx.TEST_LABELS}.gz").unlink()
    QuietHandler.requested.clear()
    mnist.fetch_if_missing(folder, Download.IF_MISSING)
    assert set(QuietHandler.requested) == {f"/{idx.TEST_LABELS}.gz"}
    QuietHandler.requested.clear()
    mnist.fetch_if_missing(folder, Download.IF_MISSING)
    assert not QuietHandler.requested


@pytest.mark.usefixtures("mirror")
def test_of_several_at_once_only_one_fetches(tmp_path: Path) -> None:
    mnist.fetch_if_missing(tmp_path / "alone", Download.IF_MISSING)
    requested_alone = sorted(QuietHandler.requested)
    QuietHandler.requested.clear()
    fetchers = [
        threading.Thread(
            target=mnist.fetch_if_missing, args=(tmp_path / "mnist", Download.IF_MISSING)
        )
        for _ in range(3)
    ]
    for fetcher in fetchers:
        fetcher.start()
    for fetcher in fetchers:
        fetcher.join()
    assert sorted(QuietHandler.requested) == requested_alone


def test_a_changed_file_is_not_kept(mirror: Path, tmp_path: Path) -> None:
    name = f"{idx.TEST_IMAGES}.gz"
    (mirror / name).write_bytes((mirror / name).read_bytes()[:-1])
    folder = tmp_path / "mnist"
    with pytest.raises(DataMissingError, match=rf"MNIST's {name} is missing in .* corrupted"):
        mnist.fetch_if_missing(folder, Download.IF_MISSING)
    assert name not in fetched(folder)


@pytest.mark.usefixtures("mirror")
def test_no_mirror_means_one_plain_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Port 9 is closed where nobody runs the discard service.
    monkeypatch.setattr(MNIST, "mirrors", ["http://127.0.0.1:9/"])
    with pytest.raises(DataMissingError) as caught:
        mnist.fetch_if_missing(tmp_path / "mnist", Download.IF_MISSING)
    message = str(caught.value)
    assert "could not be fetched (http://127.0.0.1:9/: <urlopen error" in message
    assert "\n" not in message
