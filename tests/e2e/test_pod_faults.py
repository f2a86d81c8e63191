"""Faults in the training itself, with the real image: docs/faults.md, "On a cluster"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpubench.api.run import GPUBenchmarkRunStatus
from tests.e2e.benchmarks import BenchmarkOnCluster, new_namespaces
from tests.e2e.cluster import Cluster
from tests.e2e.cluster.commands import run, wait_until
from tests.e2e.operators import OperatorProcess, running_operator
from tests.e2e.product_images import ensure_product_image
from tests.e2e.volumes import make_claim

PATIENCE_SECONDS = 900
"""Half a minute for each attempt where nobody else works."""

STOP_THE_RANKS = """
import os, pathlib, signal
for folder in pathlib.Path("/proc").iterdir():
    if folder.name.isdigit() and folder.name != "1" and int(folder.name) != os.getpid():
        if b"gpubench_workloads.image_recognition" in (folder / "cmdline").read_bytes():
            os.kill(int(folder.name), signal.SIGSTOP)
            print(folder.name)
"""


def training(claim: str | None = None, **execution: Any) -> dict[str, Any]:
    """One short training."""
    return {
        "workload": {
            "imageRecognition": {
                "dataset": {"name": "digits", "trainImages": 704},
                "imageSize": 32,
                "epochs": 1,
                "batchSize": 32,
                "workers": 0,
            }
        },
        "execution": {
            "isolation": "Shared",
            "retryBackoffSeconds": 1,
            "resources": {"cpu": "100m", "memory": "1500Mi", "sharedMemory": "128Mi"},
            **execution,
        },
        "results": {"volumeClaim": claim} if claim else {},
    }


SPECS = {
    "memory": training(resources={"cpu": "100m", "memory": "160Mi", "sharedMemory": "32Mi"}),
    "frozen": training(noProgressSeconds=45),
    "full": training("full"),
    "read-only": training("read-only"),
}


@pytest.fixture(scope="module")
def operator(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    if cluster.layout is None:
        pytest.skip("brings images and volumes to the node")
    image = ensure_product_image("image-recognition", cluster.layout)
    settings = {"images": {"imageRecognition": image}, "simulatedGpus": True}
    with running_operator(cluster, tmp_path_factory.mktemp("operator"), settings) as operator:
        yield operator


@pytest.fixture(scope="module")
def namespace(operator: OperatorProcess) -> Iterator[str]:
    with new_namespaces(operator.cluster) as make_namespace:
        yield make_namespace()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], Path]]:
    """File systems of their own: by name and options of their mount."""
    mounted = []

    def mount(name: str, options: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        run("mount", "-t", "tmpfs", "-o", options, "gpubench-e2e", folder)
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        run("umount", "--lazy", folder)


@pytest.fixture(scope="module")
def applied(
    operator: OperatorProcess, namespace: str, folders: Callable[[str, str], Path]
) -> dict[str, BenchmarkOnCluster]:
    """All faults at once, for each waits most of its time."""
    make_claim(operator.cluster, namespace, "full", folders("full", "size=16k,mode=777"))
    make_claim(operator.cluster, namespace, "read-only", folders("read-only", "ro,mode=777"))
    benchmarks = {}
    for name, spec in SPECS.items():
        benchmarks[name] = BenchmarkOnCluster(operator.cluster, namespace, name)
        benchmarks[name].apply(spec)
    freeze(benchmarks["frozen"])
    return benchmarks


def freeze(benchmark: BenchmarkOnCluster) -> None:
    """Stop the ranks of its first attempt, as a lost GPU or a dead file system would."""
    benchmark.wait_for("its start", lambda status: status.progress.running == 1, PATIENCE_SECONDS)
    (pod,) = benchmark.children("pod")
    command = ("exec", pod["metadata"]["name"], f"--namespace={benchmark.namespace}", "--")
    script = ("python3", "-c", STOP_THE_RANKS)
    wait_until(
        "ranks to stop",
        lambda: bool(benchmark.cluster.kubectl(*command, *script).strip()),
        timeout=60,
    )


def end_of(benchmark: BenchmarkOnCluster) -> GPUBenchmarkRunStatus:
    """Wait for the end of its one run."""
    benchmark.wait_for_phase("Completed", PATIENCE_SECONDS)
    (status,) = benchmark.runs().values()
    return status


def failures(status: GPUBenchmarkRunStatus) -> list[str | None]:
    return [a.failure.failure_class if a.failure else None for a in status.attempts]


def test_a_run_without_enough_memory_is_tried_once_more(
    applied: dict[str, BenchmarkOnCluster],
) -> None:
    status = end_of(applied["memory"])
    assert failures(status) == ["OutOfMemory", "OutOfMemory"]
    failed = next(c for c in status.conditions if c.type == "Failed")
    assert (failed.status, failed.reason) == ("True", "OutOfMemory")
    assert "memory" in failed.message


def test_a_run_that_hangs_is_ended_and_tried_again(
    applied: dict[str, BenchmarkOnCluster],
) -> None:
    status = end_of(applied["frozen"])
    assert failures(status) == ["NoProgress", None]
    assert status.phase in ("Succeeded", "Invalid")


@pytest.mark.parametrize("name", ["full", "read-only"])
def test_a_result_that_cannot_be_written_is_told_and_tried_once_more(
    applied: dict[str, BenchmarkOnCluster], name: str
) -> None:
    status = end_of(applied[name])
    assert failures(status) == ["Environment", "Environment"]
    failed = next(c for c in status.conditions if c.type == "Failed")
    assert "results" in failed.message
