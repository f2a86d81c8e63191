"""Benchmarks on a cluster as tests see them: through kubectl, as a user would."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench.api.benchmark import GPUBenchmarkStatus
from gpubench.api.run import GPUBenchmarkRunStatus
from gpubench.lifecycle.timestamps import from_timestamp
from tests.e2e.cluster import Cluster
from tests.e2e.cluster.commands import wait_until
from tests.e2e.instant_image import INSTANT_IMAGE
from tests.e2e.volumes import forget_volumes

Object = Mapping[str, Any]
SLOW_MACHINE_SECONDS = 90
"""A pod takes a few seconds to start and end; much longer where others load the machine."""


def instant_spec(action: str = "ok", seeds: int = 1, **execution: Any) -> dict[str, Any]:
    """A sweep of pods that do what `action` says instead of training."""
    dataset = {"name": "digits", "path": action}
    return {
        "workload": {"imageRecognition": {"dataset": dataset, "imageSize": 32}},
        "sweep": {"matrix": {"seed": list(range(seeds))}},
        "execution": {
            "image": INSTANT_IMAGE,
            "isolation": "Shared",
            "retryBackoffSeconds": 1,
            "resources": {"cpu": "10m", "memory": "64Mi", "sharedMemory": "1Mi"},
            **execution,
        },
    }


@dataclass(frozen=True)
class BenchmarkOnCluster:
    """A benchmark by its name."""

    cluster: Cluster
    namespace: str
    name: str

    def apply(self, spec: Object, **metadata: Any) -> None:
        """Apply it with this spec."""
        manifest = {
            "apiVersion": "gpubench.io/v1alpha1",
            "kind": "GPUBenchmark",
            "metadata": {"name": self.name, "namespace": self.namespace, **metadata},
            "spec": spec,
        }
        self.cluster.apply(json.dumps(manifest))

    def patch(self, patch: Object) -> None:
        """Change it as `kubectl patch --type=merge` does."""
        where = (f"gpub/{self.name}", f"--namespace={self.namespace}")
        self.cluster.kubectl("patch", *where, "--type=merge", f"--patch={json.dumps(patch)}")

    def delete(self) -> None:
        """Delete it and wait until it is gone."""
        where = (f"gpub/{self.name}", f"--namespace={self.namespace}")
        self.cluster.kubectl("delete", *where, "--timeout=60s")

    def read(self) -> Object:
        """Return the object."""
        found: Object = self._get(f"gpub/{self.name}")
        return found

    def status(self) -> GPUBenchmarkStatus:
        """Return its status, checked against its model."""
        return GPUBenchmarkStatus.model_validate(self.read().get("status") or {})

    def runs(self) -> dict[str, GPUBenchmarkRunStatus]:
        """Return its runs' statuses by name."""
        uid = self.read()["metadata"]["uid"]
        items = self._get("gpubrun", f"--selector=gpubench.io/benchmark-uid={uid}")["items"]
        return {
            item["metadata"]["name"]: GPUBenchmarkRunStatus.model_validate(item.get("status") or {})
            for item in items
        }

    def children(self, kind: str) -> list[Object]:
        """Return its jobs or pods."""
        uid = self.read()["metadata"]["uid"]
        items: list[Object] = self._get(kind, f"--selector=gpubench.io/benchmark-uid={uid}")[
            "items"
        ]
        return items

    def events(self) -> list[Object]:
        """Return what was told of it."""
        uid = self.read()["metadata"]["uid"]
        items: list[Object] = self._get("event", f"--field-selector=involvedObject.uid={uid}")[
            "items"
        ]
        return items

    def wait_for(
        self,
        what: str,
        holds: Callable[[GPUBenchmarkStatus], bool],
        seconds: float = SLOW_MACHINE_SECONDS,
    ) -> GPUBenchmarkStatus:
        """Wait until something holds of its status."""
        seen = GPUBenchmarkStatus()

        def look() -> bool:
            nonlocal seen
            seen = self.status()
            assert_adds_up(seen)
            return holds(seen)

        try:
            wait_until(f"{what} of {self.name}", look, timeout=seconds, interval=0.5)
        except Exception as error:
            error.add_note(seen.model_dump_json(indent=1, exclude_defaults=True))
            raise
        return seen

    def wait_for_phase(
        self, phase: str, seconds: float = SLOW_MACHINE_SECONDS
    ) -> GPUBenchmarkStatus:
        """Wait for a phase."""
        return self.wait_for(f"phase {phase}", lambda status: status.phase == phase, seconds)

    def wait_for_condition(
        self, kind: str, reason: str, seconds: float = SLOW_MACHINE_SECONDS
    ) -> str:
        """Wait until a condition has a reason; return its message."""

        def holds(status: GPUBenchmarkStatus) -> bool:
            return any((c.type, c.reason) == (kind, reason) for c in status.conditions)

        status = self.wait_for(f"{kind} because of {reason}", holds, seconds)
        return next(c.message for c in status.conditions if c.type == kind)

    def seconds_until(self, kind: str) -> float:
        """Return how long after the benchmark was made a condition got its present status."""
        benchmark = self.read()
        created = from_timestamp(benchmark["metadata"]["creationTimestamp"])
        conditions = {c["type"]: c for c in benchmark["status"]["conditions"]}
        return from_timestamp(conditions[kind]["lastTransitionTime"]) - created

    def gpubench(self, folder: Path, command: str, *options: str) -> None:
        """Run a command of a user's on it, in a folder, with results below that."""
        line = [sys.executable, "-m", "gpubench", command, self.name]
        subprocess.run(
            [*line, f"--namespace={self.namespace}", "--output=results", *options],
            cwd=folder,
            env=self.cluster.environment(),
            check=True,
            timeout=300,
        )

    def _get(self, *arguments: str) -> Any:
        where = (f"--namespace={self.namespace}", "--output=json")
        return json.loads(self.cluster.kubectl("get", *arguments, *where))


def assert_adds_up(status: GPUBenchmarkStatus) -> None:
    """Check that a status does not contradict itself."""
    progress = status.progress
    parts = (progress.pending, progress.running, progress.succeeded, progress.invalid)
    assert sum(parts) + progress.failed == progress.total, status
    if status.runs is not None:
        assert status.runs == f"{progress.finished}/{progress.total}", status
    if status.phase == "Completed":
        assert progress.finished == progress.total, status


@contextmanager
def new_namespaces(cluster: Cluster) -> Iterator[Callable[[], str]]:
    """Makes namespaces; all of them go at the end, together."""
    names: list[str] = []

    def make() -> str:
        names.append(f"e2e-{secrets.token_hex(4)}")
        cluster.kubectl("create", "namespace", names[-1])
        return names[-1]

    try:
        yield make
    finally:
        if names:
            cluster.kubectl("delete", "namespace", *names, "--timeout=150s", timeout=180)
            forget_volumes(cluster, names)
