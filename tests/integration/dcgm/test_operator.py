"""The real operator, a real API server and an exporter's process: from pods to statuses.

The test plays kubelet and training-operator. docs/dcgm.md, docs/faults.md.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest

from gpubench.api.enums import EnergySource, TelemetryJoin
from gpubench.api.run import GPUBenchmarkRunStatus
from gpubench.api.run_spec import RunSpec
from gpubench.api.run_telemetry import RunTelemetry
from gpubench.backends.pod_template import RUN_SPEC_ANNOTATION
from gpubench.lifecycle.timestamps import to_timestamp
from tests.bench.operator_scale.api import NAMESPACE
from tests.bench.operator_scale.control_plane import ControlPlane, control_plane
from tests.bench.operator_scale.executor import make_pod, result_of
from tests.bench.operator_scale.programs import OperatorProcess
from tests.e2e.benchmarks import instant_spec
from tests.e2e.cluster.commands import ClusterError, wait_until
from tests.e2e.cluster.packages import obstacle
from tests.e2e.instant_image import INSTANT_IMAGE
from tests.e2e.prometheus import free_port
from tests.integration.dcgm.exporters import ExporterProcess, running_exporter
from tests.integration.dcgm.gpus import gpu, uuid

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PATIENCE_SECONDS = 120
TRAINING_SECONDS = 15.0
WATTS = 300.0
XID = 79
NODE = "bench"
EXPORTERS = "gpu-operator"


class Cluster:
    """An API server with an operator, and what kubelets would do."""

    def __init__(
        self, plane: ControlPlane, operator: OperatorProcess, exporter: ExporterProcess, port: int
    ) -> None:
        self.plane = plane
        self.operator = operator
        self.exporter = exporter
        self._port = port
        self._gpus: dict[str, int] = {}
        """The GPU of each pod that runs, by name."""
        self._broken: set[str] = set()
        self._began_at = time.time()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _serve(self) -> None:
        """Let the exporter have new values each second, as with `-c 1000`."""
        while not self._stop.wait(1.0):
            seconds = time.time() - self._began_at
            shown = [self._gpu(pod, number, seconds) for pod, number in list(self._gpus.items())]
            self.exporter.serve(gpus=shown)

    def _gpu(self, pod: str, number: int, seconds: float) -> dict[str, Any]:
        return gpu(
            number,
            (NAMESPACE, pod),
            GPU_UTIL=50 + number,
            SM_ACTIVE=0.5 + number / 100,
            FB_USED=1000 * number,
            GPU_TEMP=40 + number,
            POWER_USAGE=WATTS,
            TOTAL_ENERGY_CONSUMPTION=int(seconds * WATTS * 1000),
            XID_ERRORS=XID if pod in self._broken else 0,
        )

    def number_of(self, run: str) -> int:
        """Return the number of a run's GPU."""
        return self._gpus[f"{run}-1-master-0"]

    def apply(self, manifest: dict[str, Any]) -> None:
        path = self.plane.folder / "manifest.json"
        path.write_text(json.dumps(manifest), encoding="utf-8")
        self.plane.kubectl("apply", f"--filename={path}")

    def items(self, kind: str, benchmark: str) -> list[dict[str, Any]]:
        selector = f"--selector=gpubench.io/benchmark={benchmark}"
        where = (f"--namespace={NAMESPACE}", selector, "--output=json")
        found: list[dict[str, Any]] = json.loads(self.plane.kubectl("get", kind, *where))["items"]
        return found

    def set_status(self, kind: str, name: str, status: dict[str, Any], place: str) -> None:
        patch = json.dumps({"status": status})
        where = (kind, name, f"--namespace={place}", "--subresource=status", "--type=merge")
        self.plane.kubectl("patch", *where, f"--patch={patch}")

    def begin(self, benchmark: str, runs: int) -> list[dict[str, Any]]:
        """Apply a benchmark and let all of its pods run, each on a GPU of its own."""
        metadata = {"name": benchmark, "namespace": NAMESPACE}
        spec = instant_spec(seeds=runs)
        api = {"apiVersion": "gpubench.io/v1alpha1", "kind": "GPUBenchmark"}
        self.apply({**api, "metadata": metadata, "spec": spec})
        wait_until(
            "jobs",
            lambda: len(self.items("pytorchjobs", benchmark)) == runs,
            timeout=PATIENCE_SECONDS,
        )
        pods = [make_pod(job) for job in self.items("pytorchjobs", benchmark)]
        for pod in pods:
            pod["spec"] |= {"nodeName": NODE}
            self.apply(pod)
            name = pod["metadata"]["name"]
            self._gpus[name] = len(self._gpus) + 1
            running = {"running": {"startedAt": to_timestamp(int(time.time()))}}
            self.set_status("pod", name, pod_status("Running", running), NAMESPACE)
        return pods

    def break_gpus(self, pods: list[dict[str, Any]]) -> None:
        """Let the driver report an XID error on the GPUs of pods."""
        self._broken |= {pod["metadata"]["name"] for pod in pods}

    def end(self, pods: list[dict[str, Any]], seconds: float) -> None:
        """Let pods hand over results of a training that took all of their time."""
        for pod in pods:
            annotations = pod["metadata"]["annotations"]
            result = result_of(RunSpec.model_validate_json(annotations[RUN_SPEC_ANNOTATION]))
            lengths = {
                "setup_seconds": 0.0,
                "training_seconds": seconds,
                "evaluation_seconds": 0.0,
                "total_seconds": seconds,
                "telemetry": None,
            }
            ended_at = int(time.time())
            terminated = {
                "exitCode": 0,
                "reason": "Completed",
                "message": result.model_copy(update=lengths).to_message(),
                "startedAt": to_timestamp(ended_at - int(seconds)),
                "finishedAt": to_timestamp(ended_at),
            }
            status = pod_status("Succeeded", {"terminated": terminated})
            self.set_status("pod", pod["metadata"]["name"], status, NAMESPACE)

    def final_runs(self, benchmark: str) -> dict[str, GPUBenchmarkRunStatus]:
        """Wait until all is told of a benchmark's runs."""

        def runs() -> dict[str, GPUBenchmarkRunStatus]:
            return {
                item["metadata"]["name"]: GPUBenchmarkRunStatus.model_validate(item["status"])
                for item in self.items("gpubenchmarkruns", benchmark)
            }

        def is_told() -> bool:
            return all(s.telemetry is not None and s.telemetry.final for s in runs().values())

        try:
            wait_until("what DCGM saw", is_told, timeout=PATIENCE_SECONDS)
        except ClusterError as error:
            error.add_note(str(runs()))
            error.add_note(self.operator.log.read_text(encoding="utf-8")[-3000:])
            raise
        return runs()

    def metrics(self) -> str:
        with urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=10) as answer:
            return str(answer.read().decode())


def pod_status(phase: str, state: dict[str, Any]) -> dict[str, Any]:
    container = {
        "name": "pytorch",
        "image": "x",
        "imageID": "x",
        "ready": False,
        "restartCount": 0,
        "state": state,
    }
    return {"phase": phase, "containerStatuses": [container]}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    reason = obstacle() or (None if shutil.which("openssl") else "openssl is missing")
    if reason and os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; CI must run these tests")
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("plane")
    with control_plane(folder) as plane, running_exporter(folder / "exporter") as exporter:
        port = free_port()
        settings = {
            "httpPort": port,
            "images": {"imageRecognition": INSTANT_IMAGE},
            "watchNodes": False,
            "maxGpus": 8,
            "dcgm": {"port": exporter.port, "intervalSeconds": 1},
        }
        operator = OperatorProcess(plane, settings)
        cluster = Cluster(plane, operator, exporter, port)
        make_exporter_pod(cluster)
        operator.start()
        cluster.start()
        yield cluster
        cluster.stop()
        operator.stop()


def make_exporter_pod(cluster: Cluster) -> None:
    """Let the operator find the exporter where NVIDIA's GPU Operator has it."""
    cluster.plane.kubectl("create", "namespace", EXPORTERS)
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "nvidia-dcgm-exporter-x",
                "namespace": EXPORTERS,
                "labels": {"app": "nvidia-dcgm-exporter"},
            },
            "spec": {"nodeName": NODE, "containers": [{"name": "exporter", "image": "x"}]},
        }
    )
    address = {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
    cluster.set_status("pod", "nvidia-dcgm-exporter-x", address, EXPORTERS)


def telemetry_of(status: GPUBenchmarkRunStatus) -> RunTelemetry:
    assert status.telemetry is not None
    return status.telemetry


@pytest.fixture(scope="module")
def clean(cluster: Cluster) -> dict[str, GPUBenchmarkRunStatus]:
    """Two runs side by side."""
    pods = cluster.begin("clean", 2)
    time.sleep(TRAINING_SECONDS + 1)
    cluster.end(pods, TRAINING_SECONDS)
    return cluster.final_runs("clean")


def test_each_run_has_the_numbers_of_its_own_gpu(
    cluster: Cluster, clean: dict[str, GPUBenchmarkRunStatus]
) -> None:
    assert len(clean) == 2
    for run, status in clean.items():
        told, number = telemetry_of(status), cluster.number_of(run)
        assert told.joined_by is TelemetryJoin.POD
        assert [each.uuid for each in told.gpus] == [uuid(number)]
        assert told.utilization == pytest.approx(0.5 + number / 100)
        assert told.sm_active == pytest.approx(0.5 + number / 100)
        assert told.memory_used_bytes == 1000 * number * 2**20
        assert told.temperature_celsius == 40 + number
        assert told.power_watts == WATTS
        assert status.phase == "Succeeded"


def test_the_energy_is_the_counters_within_its_bound(
    clean: dict[str, GPUBenchmarkRunStatus],
) -> None:
    for status in clean.values():
        told = telemetry_of(status)
        assert told.energy_source is EnergySource.COUNTER
        assert told.energy_joules is not None
        assert told.energy_error_joules is not None
        assert told.window_seconds == TRAINING_SECONDS
        distance = abs(told.energy_joules - WATTS * TRAINING_SECONDS)
        assert distance <= told.energy_error_joules, told


def test_samples_are_counted_at_the_exporters_own_rhythm(
    clean: dict[str, GPUBenchmarkRunStatus],
) -> None:
    for status in clean.values():
        told = telemetry_of(status)
        assert told.refresh_seconds is not None
        assert 0.8 <= told.refresh_seconds <= 4.0
        assert told.coverage >= 0.6, told
        share = min(told.samples / told.expected_samples, 1.0)
        assert told.coverage <= share + 1e-4


def test_the_metrics_say_what_the_statuses_say(
    cluster: Cluster, clean: dict[str, GPUBenchmarkRunStatus]
) -> None:
    text = cluster.metrics()
    for run, status in clean.items():
        told = telemetry_of(status)
        identity = f'{{benchmark="clean",namespace="{NAMESPACE}",run="{run}"}}'
        for name, value in (
            ("utilization_ratio", told.utilization),
            ("energy_joules", told.energy_joules),
            ("coverage_ratio", told.coverage),
        ):
            (line,) = [
                line
                for line in text.splitlines()
                if line.startswith(f"gpubench_run_dcgm_{name}{identity}")
            ]
            assert float(line.rpartition(" ")[2]) == value
    assert "gpubench_operator_dcgm_scrapes_total" in text


def test_an_xid_error_makes_the_run_invalid(cluster: Cluster) -> None:
    pods = cluster.begin("xid", 1)
    time.sleep(TRAINING_SECONDS / 2)
    cluster.break_gpus(pods)
    time.sleep(TRAINING_SECONDS / 2)
    cluster.end(pods, TRAINING_SECONDS)
    (status,) = cluster.final_runs("xid").values()
    assert telemetry_of(status).xid_errors == [XID]
    assert status.phase == "Invalid"
    assert status.validity is not None
    (gate,) = status.validity.failed_gates
    assert (gate.name, gate.message) == ("Xid", f"XID errors during the attempt: {XID}")


def test_an_operator_that_was_killed_meanwhile_tells_what_it_missed(cluster: Cluster) -> None:
    pods = cluster.begin("killed", 1)
    time.sleep(TRAINING_SECONDS / 2)
    cluster.operator.kill()
    time.sleep(TRAINING_SECONDS / 2)
    cluster.operator.start()
    time.sleep(TRAINING_SECONDS / 2)
    cluster.end(pods, 1.5 * TRAINING_SECONDS)
    (status,) = cluster.final_runs("killed").values()
    told = telemetry_of(status)
    assert status.phase == "Succeeded"
    assert told.coverage < 0.7, told
    assert any("after the training began" in note for note in told.notes), told.notes
    assert told.power_watts == WATTS


def test_a_dead_exporter_costs_coverage_and_nothing_else(cluster: Cluster) -> None:
    pods = cluster.begin("dead", 1)
    time.sleep(TRAINING_SECONDS / 3)
    cluster.exporter.kill()
    time.sleep(TRAINING_SECONDS * 2 / 3)
    cluster.end(pods, TRAINING_SECONDS)
    (status,) = cluster.final_runs("dead").values()
    told = telemetry_of(status)
    assert status.phase == "Succeeded"
    assert status.result is not None
    assert told.coverage < 0.8, told
    assert any("Unreachable" in note for note in told.notes), told.notes
    assert told.notes[-1] == "no exporter showed anything new after the end"
    assert 'scrape_failures_total{reason="Unreachable"}' in cluster.metrics()
