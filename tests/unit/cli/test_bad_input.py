"""Bad input gets one clear line, a documented exit code and no traceback; nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpubench.cli import exit_codes
from gpubench.store import ResultsFolder
from tests.unit.results import run_spec, succeeded

BENCHMARK = """\
apiVersion: gpubench.io/v1alpha1
kind: GPUBenchmark
metadata: {name: demo}
spec:
  workload: {imageRecognition: {dataset: {name: digits}, imageSize: 32}}
"""
CORES = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Answer:
    """What the command said."""

    code: int
    output: str
    errors: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
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


@pytest.mark.parametrize("command", ["validate", "expand", "run"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, ["demo.yaml", "No such file"]),
        (b"\xff\xfe\x00", ["demo.yaml", "UTF-8"]),
        (b"spec: [", ["demo.yaml"]),
        (BENCHMARK.replace("32", "3").encode(), ["imageSize", "3", "8"]),
        (BENCHMARK.replace("imageSize", "imagesize").encode(), ["imagesize", "imageSize"]),
    ],
)
def test_file_that_is_no_benchmark(
    folder: Path, command: str, text: bytes | None, words: list[str]
) -> None:
    (folder / "demo.yaml").unlink()
    if text is not None:
        (folder / "demo.yaml").write_bytes(text)
    assert_refused(gpubench(command, "demo.yaml"), exit_codes.BAD_INPUT, *words)
    assert not (folder / "results").exists()


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("gpus=9", ["gpus", "9"]),
        ("gpus", ["gpus", "--set"]),
        ("nothing.there=1", ["nothing"]),
        ("sweep.matrix.precision=[FP31]", ["FP31", "FP64, FP32, TF32, BF16, FP16"]),
    ],
)
@pytest.mark.usefixtures("folder")
def test_override_that_does_not_fit(override: str, words: list[str]) -> None:
    answer = gpubench("validate", "demo.yaml", "--set", override)
    assert_refused(answer, exit_codes.BAD_INPUT, *words)


@pytest.mark.usefixtures("folder")
def test_more_ranks_than_cores_says_how_many_are_sensible() -> None:
    answer = gpubench("run", "demo.yaml", "--device", "cpu", "--set", "sweep.matrix.gpus=[1,8]")
    assert_refused(
        answer,
        exit_codes.BAD_INPUT,
        "spec.sweep.matrix.gpus: 8 asked for",
        f"{CORES} processor cores, so at most {CORES} ranks are sensible",
        "--set sweep.matrix.gpus=[1]",
    )


@pytest.mark.usefixtures("folder")
def test_data_parallel_on_a_cpu_makes_no_sense() -> None:
    setting = "sweep.include=[{strategy: DataParallel, gpus: 2}]"
    answer = gpubench("run", "demo.yaml", "--device", "cpu", "--set", setting)
    words = ["strategy", "DataParallel", "makes no sense on a CPU", "DDP, DDP-RR, DDP-DS"]
    assert_refused(answer, exit_codes.BAD_INPUT, *words)


@pytest.mark.usefixtures("folder")
def test_gpus_asked_for_by_name_on_a_machine_without() -> None:
    answer = gpubench("run", "demo.yaml", "--device", "cuda")
    assert_refused(answer, exit_codes.BAD_INPUT, "spec.gpus: 1 asked for", "this machine has 0")


def test_second_run_on_the_same_folder_names_the_first(folder: Path) -> None:
    results = ResultsFolder.create(folder / "results", "demo")
    with results.lock.held("2026-01-01T00:00:00Z"):
        answer = gpubench("run", "demo.yaml", "--device", "cpu")
    words = [f"in use by process {os.getpid()} on", "since 2026-01-01T00:00:00Z"]
    assert_refused(answer, exit_codes.CANNOT_RUN, *words)


def test_output_that_is_a_file(folder: Path) -> None:
    (folder / "taken").write_text("", encoding="utf-8")
    answer = gpubench("run", "demo.yaml", "--device", "cpu", "--output", "taken")
    assert_refused(answer, exit_codes.CANNOT_RUN, "--output taken: cannot write there")


def test_full_disk(folder: Path) -> None:
    if not os.access("/dev/full", os.W_OK):
        pytest.skip("needs /dev/full")
    (folder / "results").mkdir()
    (folder / "results" / "demo").symlink_to("/dev/full")
    answer = gpubench("run", "demo.yaml", "--device", "cpu")
    assert_refused(answer, exit_codes.CANNOT_RUN, "cannot write there")


def test_results_of_a_newer_version_are_left_alone(folder: Path) -> None:
    name = gpubench("expand", "demo.yaml", "--format", "json").output.split('"run": "')[1]
    path = ResultsFolder.create(folder / "results", "demo").create_attempt(name.split('"')[0], 1)
    newer = succeeded(run_spec()).to_document().replace('"schemaVersion": 1', '"schemaVersion": 7')
    (path / "result.json").write_text(newer, encoding="utf-8")
    answer = gpubench("run", "demo.yaml", "--device", "cpu")
    assert_refused(answer, exit_codes.CANNOT_RUN, "schemaVersion: 7", "newer gpubench")
    assert (path / "result.json").read_text(encoding="utf-8") == newer


def test_missing_dataset_is_said_once_before_anything_starts(folder: Path) -> None:
    dataset = "workload.imageRecognition.dataset={name: mnist, path: nowhere, download: Never}"
    answer = gpubench("run", "demo.yaml", "--device", "cpu", "--set", dataset)
    assert_refused(answer, exit_codes.CANNOT_RUN, str(folder / "nowhere"))
    assert not list((folder / "results" / "demo").glob("demo-*"))


@pytest.mark.parametrize("command", ["report", "show", "logs"])
@pytest.mark.usefixtures("folder")
def test_results_that_are_not_there(command: str) -> None:
    answer = gpubench(command, "nothing")
    assert_refused(answer, exit_codes.CANNOT_RUN, "nothing", "results")


@pytest.mark.usefixtures("folder")
def test_report_format_that_does_not_exist() -> None:
    gpubench("run", "demo.yaml", "--set", "suspend=true", "--device", "cpu")
    answer = gpubench("report", "demo", "--format", "pdf")
    assert_refused(answer, exit_codes.BAD_INPUT, "pdf", "html, markdown, csv, parquet")
