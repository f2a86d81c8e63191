"""The operator as a process of this machine: tests kill it, and start it again."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import yaml

from tests.e2e.cluster import Cluster, ClusterError
from tests.e2e.cluster.commands import wait_until

CRDS = Path(__file__).parents[2] / "manifests" / "crds"
PROGRAM = Path(sys.executable).with_name("gpubench-operator")
NAMESPACE = "gpubench-e2e-operator"
"""Where the lease is."""


class OperatorProcess:
    """One operator. Its identity stays the same, so that a new process has the lease at once."""

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        settings: Mapping[str, Any],
        namespace: str = NAMESPACE,
    ) -> None:
        self.cluster = cluster
        self._namespace = namespace
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        self.settings = folder / "settings.yaml"
        self.log = folder / "operator.log"
        self._write(settings)

    def _write(self, settings: Mapping[str, Any]) -> None:
        self.settings.write_text(yaml.safe_dump({**settings, "httpPort": self.port}), "utf-8")

    def start(self) -> None:
        """Start it; it acts some seconds later."""
        environment = self.cluster.environment() | {
            "POD_NAME": "operator-of-the-tests",
            "POD_NAMESPACE": self._namespace,
        }
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [PROGRAM, "--settings", self.settings], env=environment, stdout=log, stderr=log
            )

    def wait_until_leading(self) -> None:
        """Wait until it acts."""

        def leads() -> bool:
            assert self._process is not None
            if self._process.poll() is not None:
                raise ClusterError(f"the operator has ended: {self.log.read_text('utf-8')[-2000:]}")
            with suppress(OSError):
                return self.get("/readyz") == "leading"
            return False

        wait_until("the operator's lead", leads, timeout=60)

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """SIGTERM, as a pod's end begins; return its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def restart(self, settings: Mapping[str, Any]) -> None:
        """Let it end and come again with other settings."""
        self.stop()
        self._write(settings)
        self.start()
        self.wait_until_leading()

    def get(self, path: str) -> str:
        """Return what it serves at a path."""
        with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            return str(answer.read().decode())

    def metrics(self) -> str:
        """Return its metrics."""
        return self.get("/metrics")


@contextmanager
def running_operator(
    cluster: Cluster, folder: Path, settings: Mapping[str, Any]
) -> Iterator[OperatorProcess]:
    """An operator for the whole cluster, with our CRDs; stopped at the end."""
    cluster.kubectl("apply", "--server-side", "--force-conflicts", f"--filename={CRDS}")
    for crd in ("gpubenchmarks", "gpubenchmarkruns"):
        cluster.kubectl("wait", "--for=condition=Established", f"crd/{crd}.gpubench.io")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    cluster.apply(yaml.safe_dump(namespace))
    operator = OperatorProcess(cluster, folder, settings)
    operator.start()
    try:
        operator.wait_until_leading()
        yield operator
    finally:
        operator.stop()
        if os.environ.get("GPUBENCH_SHOW_OPERATOR_LOG"):
            print(operator.log.read_text(encoding="utf-8"))


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
