"""Which cluster a command is about, and what is said where there is none."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpubench.cli import exit_codes

BENCHMARK = """\
apiVersion: gpubench.io/v1alpha1
kind: GPUBenchmark
metadata: {name: demo, namespace: team}
spec:
  workload: {imageRecognition: {dataset: {name: digits}, imageSize: 32}}
"""


@dataclass(frozen=True)
class Answer:
    """What the command said."""

    code: int
    output: str
    errors: str


@pytest.fixture(autouse=True)
def no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a benchmark's file, and no kubeconfig anywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("GPUBENCH_BACKEND", raising=False)
    (tmp_path / "demo.yaml").write_text(BENCHMARK, encoding="utf-8")
    return tmp_path


def gpubench(*arguments: str) -> Answer:
    command = [sys.executable, "-m", "gpubench", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return Answer(done.returncode, done.stdout, done.stderr)


def assert_refused(answer: Answer, code: int, *words: str) -> None:
    assert answer.code == code, answer
    assert "Traceback" not in answer.errors
    assert len(answer.errors.splitlines()) == 1, answer.errors
    for word in words:
        assert word in answer.errors


def write_kubeconfig(path: Path, server: str) -> Path:
    content = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "here",
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_without_an_option_a_command_is_about_this_machine() -> None:
    answer = gpubench("list")
    assert (answer.code, answer.errors) == (0, "")
    assert "results: no results" in answer.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "-A"],
        ["list", "--backend", "kubernetes"],
        ["show", "demo", "--namespace", "team"],
        ["logs", "demo-1", "-n", "team"],
        ["report", "demo", "-n", "team"],
        ["validate", "demo.yaml", "-n", "team"],
        ["run", "demo.yaml", "--backend", "kubernetes"],
        ["pull", "demo"],
    ],
)
def test_no_kubeconfig(no_cluster: Path, arguments: list[str]) -> None:
    answer = gpubench(*arguments)
    assert_refused(answer, exit_codes.CANNOT_RUN, f"no kubeconfig at {no_cluster}/none")
    assert not (no_cluster / "results").exists()


def test_the_environment_may_mean_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUBENCH_BACKEND", "kubernetes")
    assert_refused(gpubench("list"), exit_codes.CANNOT_RUN, "no kubeconfig")


def test_this_machine_has_no_namespaces() -> None:
    answer = gpubench("list", "--backend", "local", "-n", "team")
    assert_refused(answer, exit_codes.BAD_INPUT, "--namespace", "--backend kubernetes")


def test_a_context_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", "https://127.0.0.1:1")
    answer = gpubench("list", "--kubeconfig", str(path), "--context", "there")
    assert_refused(answer, exit_codes.CANNOT_RUN, "--context there", "there are: here")


@pytest.mark.parametrize("text", ["a: [", "[]", "hello", "contexts: 5", "{}"])
def test_a_file_that_is_no_kubeconfig(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text, encoding="utf-8")
    answer = gpubench("list", "--kubeconfig", str(tmp_path / "config"))
    assert_refused(answer, exit_codes.CANNOT_RUN, f"{tmp_path}/config: not a kubeconfig")


def test_a_cluster_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        server = f"https://127.0.0.1:{unused.getsockname()[1]}"
        path = write_kubeconfig(tmp_path / "config", server)
        answer = gpubench("list", "--kubeconfig", str(path))
    words = ["context here", server, "Connection refused"]
    assert_refused(answer, exit_codes.CANNOT_RUN, *words)


def test_bad_input_is_found_before_a_cluster_is_asked() -> None:
    answer = gpubench("validate", "demo.yaml", "-n", "team", "--set", "gpus=9")
    assert_refused(answer, exit_codes.BAD_INPUT, "gpus", "9")


def test_a_file_of_another_namespace_is_not_put_elsewhere() -> None:
    answer = gpubench("run", "demo.yaml", "-n", "other")
    words = ["demo.yaml: metadata.namespace", '"team"', "--namespace other"]
    assert_refused(answer, exit_codes.BAD_INPUT, *words)


def test_options_that_mean_nothing_on_a_cluster() -> None:
    answer = gpubench("run", "demo.yaml", "-n", "team", "--data", "elsewhere")
    assert_refused(answer, exit_codes.BAD_INPUT, "--data", "dataVolumeClaim")
    answer = gpubench("report", "demo", "-n", "team", "--format", "csv")
    assert_refused(answer, exit_codes.BAD_INPUT, "--format", "--to DIR")


def test_help_needs_no_kubernetes_client() -> None:
    code = (
        "import sys\n"
        "from gpubench.cli import main\n"
        "sys.argv = ['gpubench', 'list', '--help']\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    heavy = ('kubernetes', 'rich', 'yaml', 'requests', 'websocket')\n"
        "    print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--context" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_missing_client_is_named_with_what_has_it(tmp_path: Path) -> None:
    (tmp_path / "kubernetes.py").write_text(
        "raise ModuleNotFoundError('no', name='kubernetes')", encoding="utf-8"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "gpubench", "list", "-A"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    answer = Answer(done.returncode, done.stdout, done.stderr)
    assert_refused(answer, exit_codes.CANNOT_RUN, "kubernetes", "gpubench[cluster] has it")
