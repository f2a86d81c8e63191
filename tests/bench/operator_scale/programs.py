"""The two programs under the bench's eyes: the operator and the executor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import yaml

from tests.bench.operator_scale.control_plane import ControlPlane

STOP_SECONDS = 30


class OperatorProcess:
    """The real `gpubench-operator`, started, killed and started again."""

    def __init__(self, plane: ControlPlane, settings: dict[str, Any]) -> None:
        self._plane = plane
        self._settings = plane.folder / "settings.yaml"
        self._settings.write_text(yaml.safe_dump(settings), encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self._plane.folder / "operator.log"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start it under one pod name, as a container that is restarted has."""
        program = Path(sys.executable).with_name("gpubench-operator")
        environment = os.environ | {
            "KUBECONFIG": str(self._plane.kubeconfig),
            "POD_NAME": "operator-0",
            "POD_NAMESPACE": "default",
        }
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [program, "--settings", self._settings], env=environment, stderr=log
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Ask it to end."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    @property
    def resident_megabytes(self) -> float:
        return float(psutil.Process(self.process.pid).memory_info().rss / 1e6)

    @property
    def cpu_seconds(self) -> float:
        return cpu_seconds(self.process.pid)


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process so far."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def prefer(nice: int, process_ids: Iterable[int]) -> None:
    """Set the priority of whole sessions, which the kernel schedules as groups."""
    if nice:
        for pid in process_ids:
            Path(f"/proc/{pid}/autogroup").write_text(str(nice), encoding="ascii")


@contextmanager
def executing(plane: ControlPlane, ends: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the executor while the context lasts; `ends` gets a line for each job that ended."""
    module = "tests.bench.operator_scale.executor"
    arguments = [str(plane.folder), plane.address, plane.token, str(ends)]
    process = subprocess.Popen([sys.executable, "-m", module, *arguments])
    try:
        yield process
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)
