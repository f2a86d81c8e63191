"""What DCGM sees of real pods: docs/dcgm.md and docs/faults.md.

The exporter is a process that serves dcgm-exporter's form. It follows the pods of the runs, as the
real one does through the kubelet, and gives each a GPU of its own.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpubench.api.enums import EnergySource, TelemetryJoin
from gpubench.api.run import GPUBenchmarkRunStatus
from gpubench.api.run_telemetry import RunTelemetry
from tests.e2e.benchmarks import BenchmarkOnCluster, instant_spec, new_namespaces
from tests.e2e.cluster import Cluster
from tests.e2e.cluster.commands import wait_until
from tests.e2e.instant_image import ensure_instant_image
from tests.e2e.operators import OperatorProcess, running_operator
from tests.e2e.prometheus import running_prometheus
from tests.integration.dcgm.exporters import ExporterProcess, running_exporter
from tests.integration.dcgm.gpus import gpu, uuid

PATIENCE_SECONDS = 240
TRAINING_SECONDS = 20.0
WATTS = 300.0
XID = 79


class Node:
    """GPUs of the node as the exporter shows them: one for each pod that runs, anew each second."""

    def __init__(self, cluster: Cluster, exporter: ExporterProcess) -> None:
        self._cluster = cluster
        self._exporter = exporter
        self._numbers: dict[tuple[str, str], int] = {}
        self._began_at = time.time()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def number_of(self, pod: str) -> int:
        """Return the number of the GPU that a pod was given."""
        (number,) = [number for (_, name), number in self._numbers.items() if name == pod]
        return number

    def _follow(self) -> None:
        while not self._stop.wait(0.7):
            running = self._running()
            for pod in running:
                self._numbers.setdefault(pod, len(self._numbers) + 1)
            self._exporter.serve(gpus=[self._gpu(p, n) for p, n in self._numbers.items()])

    def _running(self) -> list[tuple[str, str]]:
        selector = "--selector=app.kubernetes.io/managed-by=gpubench"
        answer = self._cluster.kubectl("get", "pods", "-A", selector, "--output=json")
        return [
            (item["metadata"]["namespace"], item["metadata"]["name"])
            for item in json.loads(answer)["items"]
            if item["status"].get("phase") == "Running"
        ]

    def _gpu(self, pod: tuple[str, str], number: int) -> dict[str, Any]:
        seconds = time.time() - self._began_at
        has_xid = pod[1].startswith("xid") and seconds > 6
        return gpu(
            number,
            pod,
            GPU_UTIL=50 + number,
            SM_ACTIVE=0.5 + number / 100,
            FB_USED=1000 * number,
            GPU_TEMP=40 + number,
            POWER_USAGE=WATTS,
            TOTAL_ENERGY_CONSUMPTION=int(seconds * WATTS * 1000) + number,
            XID_ERRORS=XID if has_xid else 0,
        )


@pytest.fixture(scope="module")
def exporter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExporterProcess]:
    with running_exporter(tmp_path_factory.mktemp("exporter")) as exporter:
        yield exporter


@pytest.fixture(scope="module")
def operator(
    cluster: Cluster, exporter: ExporterProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    if cluster.layout is None:
        pytest.skip("brings an image to the node")
    image = ensure_instant_image(cluster.layout)
    settings = {
        "images": {"imageRecognition": image},
        "simulatedGpus": True,
        "dcgm": {"endpoints": [{"url": exporter.url}], "intervalSeconds": 1},
    }
    with running_operator(cluster, tmp_path_factory.mktemp("operator"), settings) as operator:
        yield operator


@pytest.fixture(scope="module")
def node(operator: OperatorProcess, exporter: ExporterProcess) -> Iterator[Node]:
    node = Node(operator.cluster, exporter)
    yield node
    node.stop()


@pytest.fixture(scope="module")
def namespace(operator: OperatorProcess) -> Iterator[str]:
    with new_namespaces(operator.cluster) as make_namespace:
        yield make_namespace()


@pytest.fixture(scope="module")
def finished(
    operator: OperatorProcess, node: Node, namespace: str
) -> dict[str, dict[str, GPUBenchmarkRunStatus]]:
    """Runs of two benchmarks that ran side by side, by benchmark and name."""
    node.start()
    benchmarks = {
        "clean": BenchmarkOnCluster(operator.cluster, namespace, "clean"),
        "xid": BenchmarkOnCluster(operator.cluster, namespace, "xid"),
    }
    benchmarks["clean"].apply(instant_spec(f"train={TRAINING_SECONDS:g}", seeds=2))
    benchmarks["xid"].apply(instant_spec(f"train={TRAINING_SECONDS:g}"))
    return {name: final_runs(benchmark) for name, benchmark in benchmarks.items()}


def final_runs(benchmark: BenchmarkOnCluster) -> dict[str, GPUBenchmarkRunStatus]:
    """Wait until all is told of a benchmark's runs."""
    benchmark.wait_for_phase("Completed", PATIENCE_SECONDS)

    def is_told() -> bool:
        told = [status.telemetry for status in benchmark.runs().values()]
        return all(telemetry is not None and telemetry.final for telemetry in told)

    wait_until("what DCGM saw", is_told, timeout=PATIENCE_SECONDS)
    return benchmark.runs()


def telemetry_of(status: GPUBenchmarkRunStatus) -> RunTelemetry:
    assert status.telemetry is not None
    return status.telemetry


def test_each_run_has_the_numbers_of_its_own_gpu(
    finished: dict[str, dict[str, GPUBenchmarkRunStatus]], node: Node
) -> None:
    for name, status in finished["clean"].items():
        told = telemetry_of(status)
        number = node.number_of(f"{name}-1-master-0")
        assert told.joined_by is TelemetryJoin.POD
        assert [each.uuid for each in told.gpus] == [uuid(number)]
        assert told.utilization == pytest.approx(0.5 + number / 100)
        assert told.sm_active == pytest.approx(0.5 + number / 100)
        assert told.memory_used_bytes == 1000 * number * 2**20
        assert told.temperature_celsius == 40 + number
        assert told.power_watts == WATTS
        assert status.phase == "Succeeded"
    assert len(finished["clean"]) == 2


def test_the_energy_is_the_counters_within_the_bound(
    finished: dict[str, dict[str, GPUBenchmarkRunStatus]],
) -> None:
    for status in finished["clean"].values():
        told = telemetry_of(status)
        assert told.energy_source is EnergySource.COUNTER
        assert told.energy_joules is not None
        assert told.energy_error_joules is not None
        assert told.window_seconds == TRAINING_SECONDS
        distance = abs(told.energy_joules - WATTS * TRAINING_SECONDS)
        assert distance <= told.energy_error_joules + 1.0, told


def test_the_coverage_is_counted_at_the_exporters_own_rhythm(
    finished: dict[str, dict[str, GPUBenchmarkRunStatus]],
) -> None:
    for status in finished["clean"].values():
        told = telemetry_of(status)
        assert told.refresh_seconds is not None
        assert 0.7 <= told.refresh_seconds <= 6.0
        assert told.coverage >= 0.6, told
        assert told.coverage == pytest.approx(
            min(told.samples / told.expected_samples, 1.0), abs=1e-4
        )


def test_an_xid_error_makes_the_run_invalid(
    finished: dict[str, dict[str, GPUBenchmarkRunStatus]],
) -> None:
    (status,) = finished["xid"].values()
    assert telemetry_of(status).xid_errors == [XID]
    assert status.phase == "Invalid"
    assert status.validity is not None
    (gate,) = status.validity.failed_gates
    assert (gate.name, gate.message) == ("Xid", f"XID errors during the attempt: {XID}")


def test_prometheus_has_the_same_numbers(
    finished: dict[str, dict[str, GPUBenchmarkRunStatus]],
    operator: OperatorProcess,
    namespace: str,
    tmp_path: Path,
) -> None:
    names = {
        "utilization_ratio": "utilization",
        "energy_joules": "energy_joules",
        "coverage_ratio": "coverage",
    }
    told = {run: telemetry_of(status) for run, status in finished["clean"].items()}
    with running_prometheus(tmp_path, operator.port) as prometheus:
        selector = f'{{namespace="{namespace}",benchmark="clean"}}'
        query = f"gpubench_run_dcgm_coverage_ratio{selector}"
        wait_until("the scrape", lambda: len(prometheus.query(query)) == 2, timeout=60)
        for name, attribute in names.items():
            found = prometheus.query(f"gpubench_run_dcgm_{name}{selector}")
            assert {labels["run"]: value for labels, value in found} == {
                run: getattr(telemetry, attribute) for run, telemetry in told.items()
            }
        (errors,) = prometheus.query(
            f'gpubench_run_dcgm_xid_errors{{namespace="{namespace}",benchmark="xid"}}'
        )
        assert errors[1] == 1.0
    assert "gpubench_operator_dcgm_scrapes_total" in operator.metrics()


def test_a_dead_exporter_costs_coverage_and_nothing_else(
    finished: dict[str, dict[str, GPUBenchmarkRunStatus]],
    operator: OperatorProcess,
    exporter: ExporterProcess,
    namespace: str,
) -> None:
    assert finished
    benchmark = BenchmarkOnCluster(operator.cluster, namespace, "dead")
    benchmark.apply(instant_spec(f"train={TRAINING_SECONDS:g}"))
    benchmark.wait_for("its start", lambda s: s.progress.running == 1, PATIENCE_SECONDS)
    time.sleep(3)
    exporter.kill()
    (status,) = final_runs(benchmark).values()
    told = telemetry_of(status)
    assert status.phase == "Succeeded"
    assert status.result is not None
    assert told.coverage < 0.9, told
    assert any("Unreachable" in note for note in told.notes), told.notes
    assert told.notes[-1] == "no exporter showed anything new after the end"
    assert 'scrape_failures_total{reason="Unreachable"}' in operator.metrics()
