"""Results folders: what counts, what is damaged, who holds the lock."""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.result import ResultVersionError
from gpubench.store import (
    FolderLock,
    FolderLockedError,
    ResultsFolder,
    ResultsFolderError,
    list_benchmarks,
)
from tests.unit.results import failed, run_spec, succeeded

RUN = run_spec().identity.run
BENCHMARK = GPUBenchmark.model_validate(
    {"metadata": {"name": "demo"}, "spec": {"workload": {"imageRecognition": {}}}}
)


@pytest.fixture
def folder(tmp_path: Path) -> ResultsFolder:
    return ResultsFolder.create(tmp_path, "demo")


def write_result(folder: ResultsFolder, attempt: int, *, success: bool = True) -> Path:
    spec = run_spec(attempt=attempt)
    result = succeeded(spec) if success else failed(spec)
    path = folder.create_attempt(RUN, attempt) / "result.json"
    path.write_text(result.to_document(), encoding="utf-8")
    return path


def test_attempts_come_in_their_order(folder: ResultsFolder) -> None:
    for attempt in (10, 2, 1):
        write_result(folder, attempt, success=attempt == 10)
    assert [(a.number, a.succeeded) for a in folder.attempts(RUN)] == [
        (1, False),
        (2, False),
        (10, True),
    ]


def test_a_run_that_never_started_has_no_attempts(folder: ResultsFolder) -> None:
    assert folder.attempts("never") == []


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_result_cut_in_half_is_damaged(folder: ResultsFolder, share: float) -> None:
    path = write_result(folder, 1)
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: int(len(text) * share)], encoding="utf-8")
    [attempt] = folder.attempts(RUN)
    assert attempt.result is None
    assert attempt.damage is not None
    assert "damaged" in attempt.damage


def test_an_attempt_without_a_result_was_cut_off(folder: ResultsFolder) -> None:
    folder.create_attempt(RUN, 1)
    [attempt] = folder.attempts(RUN)
    assert attempt.damage == "no result.json: it was cut off"


def test_a_result_that_was_copied_from_elsewhere_does_not_count(folder: ResultsFolder) -> None:
    path = write_result(folder, 1)
    other = folder.create_attempt(RUN, 2) / "result.json"
    other.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    assert [a.succeeded for a in folder.attempts(RUN)] == [True, False]


def test_a_newer_result_stops_the_reader(folder: ResultsFolder) -> None:
    path = folder.create_attempt(RUN, 1) / "result.json"
    path.write_text('{"schemaVersion": 99}', encoding="utf-8")
    with pytest.raises(ResultVersionError, match="schemaVersion: 99"):
        folder.attempts(RUN)


def test_the_benchmark_is_kept_beside_its_results(folder: ResultsFolder) -> None:
    folder.write_benchmark(BENCHMARK)
    assert folder.read_benchmark() == BENCHMARK
    assert [f.path for f in list_benchmarks(folder.path.parent)] == [folder.path]


def test_a_folder_without_a_benchmark_is_named(folder: ResultsFolder) -> None:
    with pytest.raises(ResultsFolderError, match="not a benchmark's results folder"):
        folder.read_benchmark()


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    with pytest.raises(ResultsFolderError, match=r"--output .*results: cannot write there"):
        ResultsFolder.create(tmp_path / "results", "demo")


def hold_lock(path: Path, ready: Connection) -> None:
    with FolderLock(path).held("2026-01-01T00:00:00Z"):
        ready.send(os.getpid())
        signal.pause()


@pytest.fixture
def holder(folder: ResultsFolder) -> multiprocessing.Process:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=hold_lock, args=(folder.path / "lock", theirs), daemon=True
    )
    process.start()
    ours.recv()
    return process  # type: ignore[return-value]  # a process of the spawn context


def test_a_locked_folder_names_its_holder(
    folder: ResultsFolder, holder: multiprocessing.Process
) -> None:
    expected = rf"in use by process {holder.pid} on .* since 2026-01-01T00:00:00Z"
    with pytest.raises(FolderLockedError, match=expected), folder.lock.held("now"):
        pass
    assert "in use by" in (folder.lock.holder() or "")
    holder.kill()
    holder.join()


def test_a_killed_holder_lets_go(folder: ResultsFolder, holder: multiprocessing.Process) -> None:
    holder.kill()
    holder.join()
    assert folder.lock.holder() is None
    with folder.lock.held("now"):
        assert folder.lock.holder() is not None
