"""Real runs on the cluster, scraped as the chart's monitors have it; every dashboard asks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from gpubench.api.benchmark import GPUBenchmarkStatus
from gpubench.telemetry.rules import rule_groups
from gpubench_workloads.reporting.atomic_file import write_atomically
from scripts.panel_data import PrometheusApi, Window, panels, targets
from tests.e2e.benchmarks import BenchmarkOnCluster, new_namespaces
from tests.e2e.cluster import Cluster
from tests.e2e.operators import OperatorProcess, running_operator
from tests.e2e.product_images import ensure_product_image
from tests.e2e.prometheus import Prometheus, free_port, prometheus_server

FILES = Path(__file__).parents[2] / "charts" / "gpubench" / "files" / "dashboards"
PATIENCE_SECONDS = 1200
SPEC: dict[str, Any] = {
    "workload": {
        "imageRecognition": {"dataset": {"name": "digits"}, "epochs": 4, "evaluation": "AtEnd"}
    },
    "sweep": {"matrix": {"imageSize": [32, 40], "gpus": [1, 2]}},
    "execution": {"backend": "PyTorchJob", "device": "CPU", "isolation": "Shared"},
}
RUNS = 4
NEEDS_A_PROFILE = {
    "Family shares by GPUs, image size, pinned (Fig. 3)",
    "Families by dataset, GPUs (Fig. 5)",
    "Families by pinned, GPUs (Fig. 6, left)",
    "Families by pinned, GPUs (Fig. 6, right)",
    "Profiler's overhead by GPUs",
    "Profiler's overhead",
    "GPU idle by GPUs",
    "GPU idle",
    "Profiled window",
    "Families",
    "Families in numbers",
}
"""Pods of this test are not profiled; the dashboards' own test has every panel filled."""
NEEDS_DCGM_IN_STATUS = {"DCGM's numbers of the run"}


@dataclass
class Scraped:
    """A sweep that has run, and the Prometheus that watched it."""

    benchmark: BenchmarkOnCluster
    api: PrometheusApi
    window: Window
    steps_seen: set[float]


class DcgmExporter(Collector):
    """What dcgm-exporter would serve if the pods that run now had a GPU each."""

    def __init__(self, operator: OperatorProcess) -> None:
        self._operator = operator

    def collect(self) -> Iterator[Metric]:
        yield from text_string_to_metric_families(dcgm_exposition(self._operator.metrics()))


@contextmanager
def serving_dcgm(operator: OperatorProcess) -> Iterator[int]:
    """Serve DCGM's readings of the operator's pods; yields the port."""
    registry, port = CollectorRegistry(), free_port()
    registry.register(DcgmExporter(operator))
    server, thread = start_http_server(port, registry=registry)
    try:
        yield port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def dcgm_exposition(operator_metrics: str) -> str:
    """Return a GPU at work for each pod that the operator names, and one that is idle."""
    pods = [
        sample.labels
        for family in text_string_to_metric_families(operator_metrics)
        if family.name == "gpubench_run_pod_info"
        for sample in family.samples
    ]
    lines = []
    for number in range(len(pods) + 1):
        labels = f'gpu="{number}",UUID="GPU-{number}",Hostname="node-of-the-tests"'
        if number < len(pods):
            pod = pods[number]
            labels += f',namespace="{pod["namespace"]}",pod="{pod["pod"]}",container="pytorch"'
        for field in (
            *("DEV_GPU_UTIL", "DEV_FB_USED", "DEV_POWER_USAGE", "DEV_GPU_TEMP", "DEV_SM_CLOCK"),
            *("DEV_XID_ERRORS", "PROF_SM_ACTIVE", "PROF_PIPE_TENSOR_ACTIVE", "PROF_DRAM_ACTIVE"),
            *("PROF_PCIE_RX_BYTES", "PROF_PCIE_TX_BYTES"),
            *("PROF_NVLINK_RX_BYTES", "PROF_NVLINK_TX_BYTES"),
        ):
            value = 0.5 if field.startswith("PROF") else 50
            lines.append((field, f"DCGM_FI_{field}{{{labels}}} {value}"))
    return "\n".join(line for _, line in sorted(lines)) + "\n"


@contextmanager
def discovering_pods(cluster: Cluster, targets: Path) -> Iterator[None]:
    """Tell Prometheus by a file of the pods that the chart's PodMonitor selects.

    Debian's Prometheus is built without the discovery that asks Kubernetes.
    """
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(1):
            write_atomically(targets, json.dumps(list(pod_targets(cluster))))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def pod_targets(cluster: Cluster) -> Iterator[dict[str, Any]]:
    """Yield what Prometheus makes of each pod with a port of that name."""
    selector = "--selector=app.kubernetes.io/managed-by=gpubench"
    pods = json.loads(cluster.kubectl("get", "pod", "--all-namespaces", selector, "--output=json"))[
        "items"
    ]
    for pod in pods:
        address = pod["status"].get("podIP")
        ports = [port for c in pod["spec"]["containers"] for port in c.get("ports", [])]
        labels = {"pod": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
        for port in ports:
            if address and port.get("name") == "metrics":
                yield {"targets": [f"{address}:{port['containerPort']}"], "labels": labels}


def scrape_jobs(pods: Path, operator_port: int, dcgm_port: int) -> list[dict[str, Any]]:
    """Return what the Prometheus Operator would make of the chart's monitors, and of DCGM's."""
    common = {"scrape_interval": "1s", "honor_labels": True}
    discovery = [{"files": [str(pods)], "refresh_interval": "1s"}]
    fixed = [
        {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
        for name, port in (("operator", operator_port), ("dcgm", dcgm_port))
    ]
    return [job | common for job in ({"job_name": "runs", "file_sd_configs": discovery}, *fixed)]


@pytest.fixture(scope="module")
def scraped(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    if cluster.layout is None:
        pytest.skip("brings an image to the node")
    image = ensure_product_image("image-recognition", cluster.layout)
    folder = tmp_path_factory.mktemp("prometheus")
    rules = folder / "rules.yml"
    groups = [group | {"interval": "1s"} for group in rule_groups()["groups"]]
    rules.write_text(yaml.safe_dump({"groups": groups}), encoding="utf-8")
    settings = {"images": {"imageRecognition": image}}
    with (
        running_operator(cluster, tmp_path_factory.mktemp("operator"), settings) as operator,
        serving_dcgm(operator) as dcgm_port,
        new_namespaces(cluster) as make_namespace,
    ):
        pods = folder / "pods.json"
        jobs = scrape_jobs(pods, operator.port, dcgm_port)
        with (
            discovering_pods(cluster, pods),
            prometheus_server(folder, jobs, rules) as server,
        ):
            api = PrometheusApi(server.address)
            benchmark = BenchmarkOnCluster(cluster, make_namespace(), "scraped")
            started_at = time.time()
            benchmark.apply(SPEC)
            steps: set[float] = set()

            def is_over(status: GPUBenchmarkStatus) -> bool:
                steps.update(value for _, value in server.query("gpubench_live_step"))
                return status.phase in ("Completed", "Failed")

            benchmark.wait_for("the end", is_over, PATIENCE_SECONDS)
            # A run that is under way, for the panels that show what is now.
            last = BenchmarkOnCluster(cluster, benchmark.namespace, "under-way")
            last.apply(long_running(SPEC))
            wait_until_live(server, last)
            yield Scraped(benchmark, api, Window(started_at, time.time(), step=1.0), steps)


def long_running(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a benchmark of one run that lasts."""
    workload = {"imageRecognition": {**spec["workload"]["imageRecognition"], "epochs": 1000}}
    return {**spec, "workload": workload, "sweep": {"matrix": {"imageSize": [32]}}}


def wait_until_live(prometheus: Prometheus, benchmark: BenchmarkOnCluster) -> None:
    """Wait until a step of a benchmark was scraped and its GPU joined."""
    deadline = time.monotonic() + 180
    selector = f'{{benchmark="{benchmark.name}"}}'
    joined = f"gpubench_live_loss{selector} and on (run) gpu:gpubench_power:watts{selector}"
    while not prometheus.query(joined):
        assert time.monotonic() < deadline, benchmark.status()
        time.sleep(1)
    time.sleep(3)


def test_all_runs_are_valid_and_were_followed_live(scraped: Scraped) -> None:
    status = scraped.benchmark.status()
    assert (status.phase, status.progress.succeeded) == ("Completed", RUNS), status
    assert len(scraped.steps_seen) > 10


@pytest.mark.parametrize("path", sorted(FILES.glob("*.json")), ids=lambda path: path.stem)
def test_no_panel_is_empty_and_no_query_an_error(scraped: Scraped, path: Path) -> None:
    dashboard = json.loads(path.read_text(encoding="utf-8"))
    run = sorted(scraped.benchmark.runs())[0]
    variables = {
        "namespace": scraped.benchmark.namespace,
        "benchmark": scraped.benchmark.name,
        "run": run,
        "__rate_interval": "10s",
    }
    empty = {
        panel["title"]
        for panel in panels(dashboard)
        if not any(
            scraped.api.answer(target, scraped.window) for target in targets(panel, variables)
        )
    }
    assert empty <= NEEDS_A_PROFILE | NEEDS_DCGM_IN_STATUS


def test_the_numbers_are_those_of_the_statuses(scraped: Scraped) -> None:
    dashboard = json.loads((FILES / "gpubench-sweep.json").read_text(encoding="utf-8"))
    (panel,) = [p for p in panels(dashboard) if p["title"] == "Every run"]
    variables = {"namespace": scraped.benchmark.namespace, "benchmark": scraped.benchmark.name}
    *_, rates = [scraped.api.answer(t, scraped.window) for t in targets(panel, variables)]
    found = {series.labels["run"]: series.value for series in rates}
    told = {
        name: status.result.samples_per_second
        for name, status in scraped.benchmark.runs().items()
        if status.result
    }
    assert found == told
    assert len(found) == RUNS
