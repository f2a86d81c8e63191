"""The command line on a cluster: as a user of a namespace would use it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpubench.cli import exit_codes
from tests.e2e.benchmarks import BenchmarkOnCluster, instant_spec, new_namespaces
from tests.e2e.cluster import Cluster
from tests.e2e.cluster.commands import wait_until
from tests.e2e.instant_image import INSTANT_IMAGE, ensure_instant_image
from tests.e2e.operators import running_operator
from tests.e2e.product_images import ensure_product_image, image_name
from tests.e2e.volumes import make_claim

PATIENCE_SECONDS = 600
"""Two small trainings on a machine that has other work, too."""
TRAINED = {
    "workload": {
        "imageRecognition": {
            "dataset": {"name": "digits", "trainImages": 960},
            "imageSize": 32,
            "epochs": 1,
            "batchSize": 32,
            "learningRate": "0.002",
            "workers": 0,
            "warmupSteps": 2,
        }
    },
    "sweep": {"matrix": {"gpus": [1, 2]}},
    "execution": {
        "isolation": "Shared",
        "device": "CPU",
        "resources": {"cpu": "100m", "memory": "3Gi", "sharedMemory": "256Mi"},
    },
    "results": {
        "volumeClaim": "results",
        "acceptance": [{"metric": "accuracy", "atMost": "0.999"}],
    },
}


@dataclass(frozen=True)
class Answer:
    """What the command said."""

    code: int
    output: str
    errors: str


@dataclass(frozen=True)
class User:
    """Somebody with a kubeconfig, a namespace and a folder."""

    cluster: Cluster
    namespace: str
    folder: Path

    def gpubench(self, *arguments: str) -> Answer:
        """Run a command about the namespace to its end."""
        done = subprocess.run(
            self._command(arguments),
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env=self.cluster.environment(),
            timeout=PATIENCE_SECONDS,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command about the namespace."""
        return subprocess.Popen(
            self._command(arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            env=self.cluster.environment(),
        )

    def write(self, name: str, spec: dict[str, Any]) -> str:
        """Write a benchmark's file; return its name."""
        manifest = {
            "apiVersion": "gpubench.io/v1alpha1",
            "kind": "GPUBenchmark",
            "metadata": {"name": name},
            "spec": spec,
        }
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(manifest), encoding="utf-8")
        return path.name

    def benchmark(self, name: str) -> BenchmarkOnCluster:
        """Return a benchmark of the namespace."""
        return BenchmarkOnCluster(self.cluster, self.namespace, name)

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "gpubench", *arguments, f"--namespace={self.namespace}"]


@pytest.fixture(scope="module")
def user(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """A user of a new namespace, which an operator looks after."""
    if cluster.layout is None:
        pytest.skip("brings images to the node")
    ensure_instant_image(cluster.layout)
    with new_namespaces(cluster) as make_namespace:
        namespace = make_namespace()
        settings = {
            "namespaces": [namespace],
            "leaseName": f"cli-{namespace}",
            "images": {"imageRecognition": image_name("image-recognition")},
            "allowedImages": [INSTANT_IMAGE],
            "simulatedGpus": True,
        }
        make_claim(cluster, namespace, "results")
        with running_operator(cluster, tmp_path_factory.mktemp("operator"), settings):
            yield User(cluster, namespace, tmp_path_factory.mktemp("user"))
            # While there is somebody to let go of them.
            where = (f"--namespace={namespace}", "--timeout=120s")
            cluster.kubectl("delete", "gpub", "--all", *where, timeout=150)


@pytest.fixture(scope="module")
def trained(user: User) -> Answer:
    """What the command says that ran two trainings on the cluster."""
    assert user.cluster.layout is not None
    ensure_product_image("image-recognition", user.cluster.layout)
    return user.gpubench("run", user.write("trained", TRAINED), "--backend=kubernetes")


def quick_spec(action: str = "ok", seeds: int = 1, **execution: Any) -> dict[str, Any]:
    """A sweep of pods that end at once and want no GPUs, which others may have taken."""
    return instant_spec(action, seeds, device="CPU", **execution)


def lines_of_tables(text: str) -> list[str]:
    """Return the lines of a report's tables, and not the paths below them."""
    return [line.rstrip() for line in text.splitlines() if not line.startswith("results/")]


def assert_refused(answer: Answer, code: int, *words: str) -> None:
    assert answer.code == code, answer
    assert "Traceback" not in answer.errors
    assert len(answer.errors.splitlines()) == 1, answer.errors
    for word in words:
        assert word in answer.errors


def test_a_run_on_the_cluster_looks_like_one_on_this_machine(trained: Answer) -> None:
    assert trained.code == exit_codes.OK, trained
    assert "2 to run" in trained.output
    assert "valid    gpus=1" in trained.output
    assert "valid    gpus=2" in trained.output
    assert "All 2 runs are valid" in trained.output
    assert "Total time and accuracy" in trained.output


@pytest.mark.usefixtures("trained")
def test_the_pulled_folder_gives_the_report_of_the_statuses(user: User) -> None:
    from_statuses = user.gpubench("report", "trained")
    assert from_statuses.code == 0, from_statuses
    pulled = user.gpubench("pull", "trained", "--output=results")
    assert pulled.code == 0, pulled
    assert "2 attempts brought; 2 results are what the statuses say" in pulled.output
    report = [sys.executable, "-m", "gpubench", "report", "trained", "--output=results"]
    from_folder = subprocess.run(
        report,
        cwd=user.folder,
        # As wide a terminal, or none, for both.
        env=user.cluster.environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert lines_of_tables(from_statuses.output) == lines_of_tables(from_folder.stdout)
    assert "All 2 runs are valid" in from_statuses.output
    left = user.cluster.kubectl(
        "get", "pod", f"--namespace={user.namespace}", "-l", "app.kubernetes.io/name=gpubench-pull"
    )
    assert left == ""


@pytest.mark.usefixtures("trained")
def test_what_was_pulled_is_not_pulled_again(user: User) -> None:
    user.gpubench("pull", "trained", "--output=twice")
    again = user.gpubench("pull", "trained", "--output=twice")
    assert "nothing new; 2 results are what the statuses say" in again.output


@pytest.mark.usefixtures("trained")
def test_a_result_that_was_changed_here_is_brought_again(user: User) -> None:
    user.gpubench("pull", "trained", "--output=changed")
    folder = user.folder / "changed" / "trained"
    path = next(folder.glob("*-1/attempt-1/result.json"))
    path.write_text(path.read_text(encoding="utf-8").replace('"epochs": 1', '"epochs": 2'), "utf-8")
    again = user.gpubench("pull", "trained", "--output=changed")
    assert again.code == 0
    assert "1 attempts brought; 2 results are what the statuses say" in again.output, again


@pytest.mark.usefixtures("trained")
def test_the_log_of_a_pod_that_is_gone_is_in_the_volume(user: User) -> None:
    run = next(iter(user.benchmark("trained").runs()))
    answer = user.gpubench("logs", run)
    assert_refused(answer, exit_codes.CANNOT_RUN, "gone", "gpubench pull trained")


def test_a_failed_run_is_told_with_its_attempts_and_its_log(user: User) -> None:
    spec = quick_spec("exit=7", retryLimit=1)
    answer = user.gpubench("run", user.write("fails", spec))
    assert answer.code == exit_codes.RUNS_NOT_VALID, answer
    assert "will be tried again" in answer.output
    assert "Failed runs" in answer.output
    shown = user.gpubench("show", "fails")
    assert "Failed" in shown.output
    (run,) = user.benchmark("fails").runs()
    assert "failureClass" in user.gpubench("show", run).output
    assert user.gpubench("logs", run, "--attempt=2").code == 0
    assert_refused(
        user.gpubench("logs", run, "--attempt=9"), exit_codes.CANNOT_RUN, "attempts 1, 2"
    )


def test_ctrl_c_leaves_the_benchmark_running_and_says_how_to_come_back(user: User) -> None:
    file = user.write("long", quick_spec("sleep=20"))
    process = user.start("run", file, "--backend=kubernetes")
    benchmark = user.benchmark("long")
    wait_until("a running run", lambda: _is_running(benchmark), timeout=120)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == exit_codes.INTERRUPTED, output
    assert f"come back: gpubench run long.yaml -n {user.namespace}" in output
    assert "kubectl" in output
    assert "Traceback" not in output
    back = user.gpubench("run", file)
    assert back.code == exit_codes.OK, back
    assert "The run is valid" in back.output
    assert benchmark.runs()[next(iter(benchmark.runs()))].attempt == 1


def _is_running(benchmark: BenchmarkOnCluster) -> bool:
    try:
        return benchmark.status().progress.running > 0
    except Exception:  # noqa: BLE001 - it may not be there yet
        return False


def test_the_list_has_every_benchmark_of_the_namespace(user: User) -> None:
    user.gpubench("run", user.write("listed", quick_spec(seeds=3)))
    answer = user.gpubench("list")
    heading, *lines = answer.output.splitlines()
    assert heading.split() == ["NAMESPACE", "NAME", "PHASE", "RUNS", "FAILED", "ETA", "AGE"]
    cells = {line.split()[1]: line.split() for line in lines}
    assert cells["listed"][:5] == [user.namespace, "listed", "Completed", "3/3", "0"]


def test_what_keeps_runs_from_starting_is_told_while_it_is_followed(user: User) -> None:
    spec = quick_spec() | {"results": {"volumeClaim": "later"}}
    process = user.start("run", user.write("blocked", spec))
    where = ("gpub/blocked", f"--namespace={user.namespace}")
    user.cluster.kubectl("wait", *where, "--for=create", "--timeout=60s")
    blocked = BenchmarkOnCluster(user.cluster, user.namespace, "blocked")
    blocked.wait_for_condition("Degraded", "VolumeClaimMissing")
    time.sleep(10)  # the command looks every few seconds
    make_claim(user.cluster, user.namespace, "later")
    output, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert "later" in output.split("The run is valid")[0], output
    assert process.returncode == exit_codes.OK, output


def test_what_only_the_api_server_refuses_is_told_with_its_field(user: User) -> None:
    user.gpubench("run", user.write("started", quick_spec()))
    changed = quick_spec("exit=1")
    for command in ("validate", "run"):
        answer = user.gpubench(command, user.write("started", changed))
        words = ["started.yaml: spec.workload", "cannot change once runs have started"]
        assert_refused(answer, exit_codes.BAD_INPUT, *words)


def test_a_dry_run_leaves_nothing_behind(user: User) -> None:
    answer = user.gpubench("validate", user.write("dry", quick_spec()))
    assert answer.code == 0, answer
    assert f"for namespace {user.namespace}" in answer.output
    assert_refused(user.gpubench("show", "dry"), exit_codes.CANNOT_RUN, "no such benchmark")


def test_a_spec_that_the_operator_refuses_ends_the_command(user: User) -> None:
    spec = quick_spec(image="localhost/not-allowed:1")
    answer = user.gpubench("run", user.write("refused", spec))
    assert answer.code == exit_codes.BAD_INPUT, answer
    assert "localhost/not-allowed:1" in answer.output


def test_a_namespace_that_does_not_exist(user: User) -> None:
    nowhere = User(user.cluster, "nowhere", user.folder)
    file = user.write("lost", quick_spec())
    for arguments in (["list"], ["show", "x"], ["report", "x"], ["logs", "x"], ["pull", "x"]):
        answer = nowhere.gpubench(*arguments)
        assert_refused(answer, exit_codes.CANNOT_RUN, "namespace nowhere does not exist")
    for command in ("run", "validate"):
        assert_refused(
            nowhere.gpubench(command, file), exit_codes.CANNOT_RUN, '"nowhere" not found'
        )


def test_a_user_without_rights_is_told_which_one_is_missing(user: User) -> None:
    config = json.loads(
        user.cluster.kubectl("config", "view", "--raw", "--minify", "--output=json")
    )
    token = user.cluster.kubectl(
        "create", "token", "default", f"--namespace={user.namespace}"
    ).strip()
    config["users"][0]["user"] = {"token": token}
    (user.folder / "powerless").write_text(json.dumps(config), encoding="utf-8")
    answer = user.gpubench("list", "--kubeconfig=powerless")
    assert_refused(answer, exit_codes.CANNOT_RUN, "not allowed", "gpubenchmarks", user.namespace)


def test_a_volume_pod_that_cannot_start_says_why_and_is_gone(user: User) -> None:
    spec = quick_spec() | {"results": {"volumeClaim": "results"}}
    user.gpubench("run", user.write("stuck", spec))
    answer = user.gpubench("pull", "stuck", "--image=localhost/not-there:1", "--output=stuck")
    assert_refused(answer, exit_codes.CANNOT_RUN, "does not start", "localhost/not-there:1")
    left = user.cluster.kubectl(
        "get", "pod", f"--namespace={user.namespace}", "-l", "app.kubernetes.io/name=gpubench-pull"
    )
    assert left == ""
