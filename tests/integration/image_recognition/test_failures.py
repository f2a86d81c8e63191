"""Ranks that give up or are ended: what they say, and that nothing is left of them."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from gpubench.api.enums import FailureClass
from gpubench.api.layout import PROGRESS_FILE
from gpubench.api.progress import AttemptProgress, Stage
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.image_recognition import __main__ as program
from gpubench_workloads.image_recognition import run
from gpubench_workloads.reporting import rank_program
from gpubench_workloads.reporting.rank_report import RankFailure, read_rank_report
from tests.integration.image_recognition.launches import (
    rank_command,
    start_ranks,
    torchrun_command,
    write_spec,
)
from tests.unit.image_recognition.specs import image_spec

ENDLESS = {"epochs": 10_000, "evaluation": "Disabled"}


@pytest.fixture
def outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[RunSpec], tuple[RankFailure, str]]:
    """Run a rank that must fail in this process; return what it reported and printed."""
    # This process is to outlive its parent; and torch has been loaded long since.
    monkeypatch.setattr(rank_program, "die_with_parent", lambda: None)
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")

    def run_failing(spec: RunSpec) -> tuple[RankFailure, str]:
        path = write_spec(tmp_path, spec)
        assert program.main(["--spec", str(path), "--output", str(tmp_path)]) == 1
        report = read_rank_report(tmp_path, 0)
        assert report is not None
        assert report.failure is not None
        return report.failure, capsys.readouterr().err

    return run_failing


Outcome = Callable[[RunSpec], tuple[RankFailure, str]]


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ({"model": "mobilenet_v9"}, FailureClass.BAD_SPEC, "model: mobilenet_v9 is no classifier"),
        ({"model": "googlenet", "imageSize": 64}, FailureClass.BAD_SPEC, "model: googlenet ret"),
        (
            {"model": "alexnet"},
            FailureClass.BAD_SPEC,
            "imageSize: 32 does not fit model: alexnet",
        ),
        (
            {"batchSize": 19},
            FailureClass.BAD_SPEC,
            "batchSize: the last batch of an epoch has 1 image per GPU",
        ),
        (
            {"dataset": {"name": "digits", "trainImages": 5000}},
            FailureClass.BAD_SPEC,
            "dataset.trainImages: 5000 is more than digits has; allowed: 1 to 1442",
        ),
        (
            {"strategy": "DataParallel", "compile": "Default"},
            FailureClass.BAD_SPEC,
            "compile: Default does not go with strategy: DataParallel",
        ),
        (
            {"dataset": {"name": "idx", "path": "nowhere"}},
            FailureClass.DATA_MISSING,
            "dataset folder nowhere does not exist",
        ),
        (
            {"learningRate": "1e30"},
            FailureClass.NON_FINITE_LOSS,
            "training loss is nan at step 2; lower learningRate",
        ),
    ],
    ids=["model", "outputs", "size", "batch", "limit", "compile", "data", "loss"],
)
def test_what_a_user_can_mend_is_one_line(
    outcome: Outcome, fields: dict[str, Any], kind: FailureClass, message: str
) -> None:
    failure, printed = outcome(image_spec(**fields))
    assert failure.failure_class is kind
    assert failure.message.startswith(message)
    assert printed == f"rank 0: {failure.message}\n"


def test_too_few_ranks_are_the_machines_fault(outcome: Outcome) -> None:
    failure, _ = outcome(image_spec(gpus=2))
    assert failure.failure_class is FailureClass.ENVIRONMENT
    assert failure.message == "gpus: 2 with this strategy needs 2 process(es), 1 were started"


def test_gpus_that_are_not_there_are_the_machines_fault(
    outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    spec = image_spec().model_dump(mode="json") | {"device": "CUDA"}
    failure, _ = outcome(RunSpec.model_validate(spec))
    assert failure.failure_class is FailureClass.ENVIRONMENT
    assert failure.message == "gpus: 1 are asked for, torch sees 0"


def test_a_bug_shows_its_traceback(outcome: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        msg = "a bug"
        raise KeyError(msg)

    monkeypatch.setattr(run, "run_epochs", broken)
    failure, printed = outcome(image_spec())
    assert (failure.failure_class, failure.message) == (FailureClass.CRASH, "KeyError: 'a bug'")
    assert printed.startswith("Traceback (most recent call last):")


def test_a_broken_spec_ends_the_process_with_one_line(tmp_path: Path) -> None:
    command = rank_command(tmp_path, image_spec())
    (tmp_path / "run.json").write_text('{"gpus": "many"}')
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith("rank 0: run.json is not a run spec: identity: Field required")
    assert result.stderr.count("\n") == 1


def is_gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def eventually(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def trains(folder: Path) -> bool:
    try:
        progress = AttemptProgress.model_validate_json((folder / PROGRESS_FILE).read_bytes())
    except OSError:
        return False
    return progress.stage is Stage.TRAINING and progress.step > 0


def test_a_killed_rank_ends_the_others_by_itself(tmp_path: Path) -> None:
    """Without torchrun, which would end them too."""
    first, second = start_ranks(tmp_path, image_spec(gpus=2, workers=1, **ENDLESS))
    assert eventually(lambda: trains(tmp_path), 60)
    assert second.pid is not None
    workers = psutil.Process(second.pid).children()
    assert workers
    second.kill()
    assert eventually(lambda: all(map(is_gone, workers)), 5)
    first.join(timeout=20)
    assert first.exitcode == 1
    second.join()
    report = read_rank_report(tmp_path, 0)
    assert report is not None
    assert report.failure is not None
    assert report.failure.failure_class is FailureClass.CRASH
    assert report.failure.message.startswith("lost another rank, whose own failure came first")


@pytest.mark.parametrize("victim", ["torchrun", "rank"])
def test_nothing_is_left_when_something_is_killed(tmp_path: Path, victim: str) -> None:
    command = torchrun_command(tmp_path, image_spec(gpus=2, workers=1, **ENDLESS))
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as torchrun:
        try:
            root = psutil.Process(torchrun.pid)
            assert eventually(lambda: trains(tmp_path) or torchrun.poll() is not None, 400)
            ranks = root.children()
            family = root.children(recursive=True)
            assert len(ranks) == 2
            assert len(family) >= 4  # a loading worker each
            (root if victim == "torchrun" else ranks[1]).send_signal(signal.SIGKILL)
            assert eventually(lambda: all(map(is_gone, family)), 20)
            assert torchrun.wait(20) != 0
        finally:
            torchrun.kill()  # the training would never end by itself
