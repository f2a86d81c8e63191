"""The operator as a process of this machine: tests kill it, and start it again.

One that ends by itself, as it does when it loses its lease, is started again as a container is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import yaml

from tests.e2e.cluster import Cluster, ClusterError
from tests.e2e.cluster.commands import wait_until
from tests.e2e.prometheus import free_port

CRDS = Path(__file__).parents[2] / "manifests" / "crds"
PROGRAM = Path(sys.executable).with_name("gpubench-operator")
NAMESPACE = "gpubench-e2e-operator"
"""Where the lease is."""
MOST_RESTARTS = 10


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
        self._is_wanted = threading.Event()
        self.restarts = 0
        """How often it had to be started again."""
        self.port = free_port()
        self.settings = folder / "settings.yaml"
        self.log = folder / "operator.log"
        self._write(settings)

    def _write(self, settings: Mapping[str, Any]) -> None:
        self.settings.write_text(yaml.safe_dump({**settings, "httpPort": self.port}), "utf-8")

    def start(self) -> None:
        """Start it; it acts some seconds later."""
        process = self._process = self._launch()
        self._is_wanted.set()
        threading.Thread(target=self._keep, args=(process,), daemon=True).start()

    def _launch(self) -> subprocess.Popen[bytes]:
        environment = self.cluster.environment() | {
            "POD_NAME": "operator-of-the-tests",
            "POD_NAMESPACE": self._namespace,
        }
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [PROGRAM, "--settings", self.settings], env=environment, stdout=log, stderr=log
            )

    def _keep(self, process: subprocess.Popen[bytes]) -> None:
        """Start it again whenever it ends by itself."""
        process.wait()
        if self._is_wanted.is_set() and self._process is process:
            self.restarts += 1
            self.start()

    def wait_until_leading(self) -> None:
        """Wait until it acts."""

        def leads() -> bool:
            if self.restarts > MOST_RESTARTS:
                raise ClusterError(f"the operator ends: {self.log.read_text('utf-8')[-2000:]}")
            with suppress(OSError):
                return self.get("/readyz") == "leading"
            return False

        wait_until("the operator's lead", leads, timeout=60)

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None
        self._is_wanted.clear()
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """SIGTERM, as a pod's end begins; return its exit code."""
        assert self._process is not None
        self._is_wanted.clear()
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
    wait_until("our kinds", lambda: _knows_our_kinds(cluster), timeout=30)
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


def _knows_our_kinds(cluster: Cluster) -> bool:
    with suppress(ClusterError):
        cluster.kubectl("get", "gpubenchmarks,gpubenchmarkruns", "--namespace=default")
        return True
    return False
