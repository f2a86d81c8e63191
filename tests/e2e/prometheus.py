"""Debian's Prometheus, for a test that lets it scrape and then asks it."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml

from tests.e2e.cluster.commands import wait_until
from tests.prometheus_programs import prometheus_program


class Prometheus:
    """A server that is asked what it knows."""

    def __init__(self, port: int) -> None:
        self._port = port

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._port}"

    def is_ready(self) -> bool:
        """Whether it answers."""
        with suppress(OSError), urlopen(f"http://127.0.0.1:{self._port}/-/ready", timeout=5):
            return True
        return False

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Return labels and value of each series that an expression has now."""
        url = f"http://127.0.0.1:{self._port}/api/v1/query?{urlencode({'query': expression})}"
        with urlopen(url, timeout=10) as answer:
            found = json.load(answer)["data"]["result"]
        return [(series["metric"], float(series["value"][1])) for series in found]


@contextmanager
def running_prometheus(folder: Path, *target_ports: int) -> Iterator[Prometheus]:
    """A Prometheus that scrapes ports of this machine each second."""
    job = {
        "job_name": "gpubench",
        "scrape_interval": "1s",
        "honor_labels": True,
        "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in target_ports]}],
    }
    with prometheus_server(folder, [job]) as server:
        yield server


@contextmanager
def prometheus_server(
    folder: Path, jobs: list[dict[str, Any]], rules: Path | None = None, *options: str
) -> Iterator[Prometheus]:
    """A Prometheus with scrape jobs, and rules if there are some; its data stay in the folder."""
    port = free_port()
    configuration = folder / "prometheus.yml"
    content = {"scrape_configs": jobs, "rule_files": [str(rules)] if rules else []}
    configuration.write_text(yaml.safe_dump(content), encoding="utf-8")
    command = [
        str(prometheus_program("prometheus")),
        f"--config.file={configuration}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        *options,
    ]
    with (folder / "prometheus.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        server = Prometheus(port)
        wait_until("Prometheus", server.is_ready, timeout=60)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=30)


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
