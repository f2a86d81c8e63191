"""The exporter process as tests use it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[3]
PROGRAM = "tests.integration.dcgm.exporter"


class ExporterProcess:
    """An exporter on a port of this machine; it is told by a file what to serve."""

    def __init__(self, folder: Path) -> None:
        self._control = folder / "exporter.json"
        self._process: subprocess.Popen[str] | None = None
        self.wanted: dict[str, Any] = {"gpus": []}
        self.port = 0

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self.port}/metrics"

    def serve(self, **wanted: Any) -> None:
        """Serve this from now on; what is not named stays."""
        self.wanted |= wanted
        fresh = self._control.with_suffix(".new")
        fresh.write_text(json.dumps(self.wanted), encoding="utf-8")
        fresh.replace(self._control)

    def start(self) -> None:
        """Start it, at the port that it had before if it had one."""
        self.serve()
        command = [sys.executable, "-m", PROGRAM, f"--port={self.port}"]
        self._process = subprocess.Popen(
            [*command, f"--control={self._control}"],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        self._process = None

    def stop(self) -> None:
        """End it if it runs."""
        if self._process is not None:
            self.kill()


@contextmanager
def running_exporter(folder: Path) -> Iterator[ExporterProcess]:
    """An exporter that runs until the end of the block."""
    folder.mkdir(exist_ok=True)
    exporter = ExporterProcess(folder)
    exporter.start()
    try:
        yield exporter
    finally:
        exporter.stop()
