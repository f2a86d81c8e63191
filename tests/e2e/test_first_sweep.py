"""The first sweep of the guide, with real pods: manifests/mobilenet-sweep-cpu.yaml as it is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from gpubench.api.benchmark import GPUBenchmarkStatus
from gpubench.api.enums import ValidityStatus
from tests.e2e.benchmarks import BenchmarkOnCluster, new_namespaces
from tests.e2e.cluster import Cluster
from tests.e2e.cluster.commands import wait_until
from tests.e2e.operators import OperatorProcess, running_operator
from tests.e2e.product_images import ensure_product_image
from tests.e2e.prometheus import running_prometheus
from tests.e2e.volumes import make_claim

REPOSITORY = Path(__file__).parents[2]
SAMPLE = REPOSITORY / "manifests" / "mobilenet-sweep-cpu.yaml"
MNIST = REPOSITORY.parent / "shared" / "data" / "mnist"
RUNS = 8
PATIENCE_SECONDS = 2400
"""Four minutes on two free cores."""


@dataclass
class Sweep:
    """A sweep that has run, and what was seen meanwhile."""

    benchmark: BenchmarkOnCluster
    operator: OperatorProcess
    samples: list[GPUBenchmarkStatus] = field(default_factory=list)
    table: list[list[str]] = field(default_factory=list)
    """Lines of kubectl get --watch, in words."""


@pytest.fixture(scope="module")
def operator(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    if cluster.layout is None:
        pytest.skip("brings images and data to the node")
    image = ensure_product_image("image-recognition", cluster.layout)
    settings = {"images": {"imageRecognition": image}}
    with running_operator(cluster, tmp_path_factory.mktemp("operator"), settings) as operator:
        yield operator


@pytest.fixture(scope="module")
def sweep(operator: OperatorProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sweep]:
    cluster = operator.cluster
    manifest = yaml.safe_load(SAMPLE.read_text(encoding="utf-8"))
    data = tmp_path_factory.mktemp("data")
    data.chmod(0o755)
    if MNIST.is_dir():
        shutil.copytree(MNIST, data / "mnist")
    else:
        workload = manifest["spec"]["workload"]["imageRecognition"]
        workload |= {"dataset": {"name": "digits", "trainImages": 1408}, "epochs": 4}
    with new_namespaces(cluster) as make_namespace:
        namespace = make_namespace()
        make_claim(cluster, namespace, "gpubench-data", data)
        make_claim(cluster, namespace, "gpubench-results")
        found = Sweep(BenchmarkOnCluster(cluster, namespace, "mobilenet-sweep-cpu"), operator)
        cluster.apply(yaml.safe_dump(manifest), f"--namespace={namespace}")
        watch(found)
        yield found


def watch(sweep: Sweep) -> None:
    """Look at a sweep as often as possible, until it is over."""
    benchmark = sweep.benchmark
    command = [benchmark.cluster.program("kubectl"), "get", "gpub", benchmark.name, "--watch"]
    process = subprocess.Popen(
        [*command, f"--namespace={benchmark.namespace}"],
        stdout=subprocess.PIPE,
        text=True,
        env=benchmark.cluster.environment(),
    )

    def is_over(status: GPUBenchmarkStatus) -> bool:
        sweep.samples.append(status)
        return status.phase in ("Completed", "Failed")

    try:
        benchmark.wait_for("the end", is_over, PATIENCE_SECONDS)
    finally:
        process.terminate()
        output, _ = process.communicate(timeout=30)
    sweep.table = [line.split() for line in output.splitlines()]


def test_the_sweep_completes_without_a_second_attempt(sweep: Sweep) -> None:
    status = sweep.benchmark.status()
    assert (status.phase, status.progress.succeeded) == ("Completed", RUNS), status
    runs = sweep.benchmark.runs()
    assert len(runs) == RUNS
    assert {run.attempt for run in runs.values()} == {1}
    assert not sweep.benchmark.children("pytorchjob")


def test_the_status_told_the_truth_all_along(sweep: Sweep) -> None:
    finished = [status.progress.finished for status in sweep.samples]
    assert finished == sorted(finished)
    phases = [status.phase for status in sweep.samples if status.conditions]
    order = ["Pending", "Running", "Completed"]
    assert [order.index(phase) for phase in phases] == sorted(order.index(p) for p in phases)
    for status in sweep.samples:
        # The node of the tests is had by one run at a time.
        assert status.progress.running <= 1, status
        assert (status.start_time is not None) == (status.phase in ("Running", "Completed"))
        assert (status.completion_time is not None) == (status.phase == "Completed")
        if 0 < status.progress.finished < RUNS:
            assert status.estimated_completion_time is not None, status


def test_kubectl_get_shows_the_same(sweep: Sweep) -> None:
    heading, *lines = sweep.table
    assert heading == ["NAME", "PHASE", "RUNS", "FAILED", "ETA", "AGE"]
    # The first line may be from before the operator has seen it.
    shown = [line[2] for line in lines if len(line) > len(("NAME", "AGE"))]
    assert shown == sorted(shown)
    assert {f"{count}/{RUNS}" for count in range(RUNS + 1)} == set(shown)
    assert lines[-1][1:4] == ["Completed", f"{RUNS}/{RUNS}", "0"]


def test_statuses_carry_times_and_accuracies(sweep: Sweep) -> None:
    for name, run in sweep.benchmark.runs().items():
        result = run.result
        assert result is not None
        assert result.run == name
        assert result.accuracy is not None
        assert result.accuracy >= 0.5
        assert result.training_seconds
        assert result.iteration is not None
        assert result.samples_per_second
        assert run.validity is not None
        assert run.validity.status is ValidityStatus.VALID
        assert run.timing.start_time is not None
        assert run.timing.completion_time is not None


def test_prometheus_scrapes_what_the_statuses_say(sweep: Sweep, tmp_path: Path) -> None:
    benchmark = sweep.benchmark
    selector = f'{{namespace="{benchmark.namespace}",benchmark="{benchmark.name}"}}'
    runs = benchmark.runs()
    with running_prometheus(tmp_path, sweep.operator.port) as prometheus:
        accuracy = f"gpubench_run_accuracy_ratio{selector}"
        wait_until("the scrape", lambda: len(prometheus.query(accuracy)) == RUNS, timeout=30)
        for name, attribute in (
            ("accuracy_ratio", "accuracy"),
            ("training_seconds", "training_seconds"),
            ("samples_per_second", "samples_per_second"),
        ):
            found = prometheus.query(f"gpubench_run_{name}{selector}")
            told = {run: getattr(status.result, attribute) for run, status in runs.items()}
            assert {labels["run"]: value for labels, value in found} == told
        joined = f"{accuracy} * on (namespace, benchmark, run) group_left (gpus, precision) "
        found = prometheus.query(f"{joined} gpubench_run_info")
        assert sorted(labels["gpus"] for labels, _ in found) == ["1"] * 4 + ["2"] * 4


def test_the_report_is_that_of_the_pulled_results(sweep: Sweep, tmp_path: Path) -> None:
    benchmark = sweep.benchmark

    def gpubench(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "gpubench", *arguments],
            cwd=tmp_path,
            env=benchmark.cluster.environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        ).stdout

    where = f"--namespace={benchmark.namespace}"
    from_statuses = gpubench("report", benchmark.name, where)
    assert f"All {RUNS} runs are valid" in from_statuses
    gpubench("pull", benchmark.name, where, "--output=results")
    from_folder = gpubench("report", benchmark.name, "--output=results")
    assert tables(from_statuses) == tables(from_folder)


def tables(report: str) -> list[str]:
    """Return the lines of a report, without the paths of what it wrote."""
    lines = [line.rstrip() for line in report.splitlines()]
    return [line for line in lines if not line.startswith(("/", "results/"))]
