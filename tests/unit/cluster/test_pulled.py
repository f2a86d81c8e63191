"""A results folder that was brought from a volume is what the statuses say, or it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpubench.api.compact import compact_result
from gpubench.api.result import RunResult
from gpubench.api.run import GPUBenchmarkRun
from gpubench.cluster.errors import ClusterError
from gpubench.cluster.pulled import (
    as_paths,
    attempts_here,
    attempts_over,
    attempts_that_run,
    check_origin,
    move_in,
    origin,
    verify,
)
from gpubench.store import ResultsFolder
from tests.unit.cluster.objects import attempt, benchmark, failure, planned, run_object, spec_of
from tests.unit.results import succeeded

RUN = planned()
RESULT = succeeded(spec_of(RUN))


@pytest.fixture
def folder(tmp_path: Path) -> ResultsFolder:
    return ResultsFolder.create(tmp_path, "demo")


def store(folder: Path, result: RunResult) -> RunResult:
    """Write a result as its pod does; return it with its digest."""
    place = folder / result.identity.run / f"attempt-{result.identity.attempt}"
    place.mkdir(parents=True)
    (place / "result.json").write_text(result.to_document(), encoding="utf-8")
    return RunResult.from_document(result.to_document())


def told(result: RunResult, digest: str | None = None) -> GPUBenchmarkRun:
    """Return the object of a run whose pod handed over this result."""
    assert result.digest is not None
    compact = compact_result(result, digest or result.digest).to_json_dict()
    attempts = [attempt(result.identity.attempt, "Succeeded")]
    return run_object(RUN, phase="Succeeded", attempts=attempts, result=compact)


def test_a_result_with_the_digest_of_the_status_is_verified(folder: ResultsFolder) -> None:
    found = verify(folder, [told(store(folder.path, RESULT))])
    assert (found.verified, found.different, found.absent) == (1, (), ())


def test_a_result_that_was_exchanged_on_the_volume_is_told(folder: ResultsFolder) -> None:
    store(folder.path, succeeded(spec_of(RUN), accuracy=1.0))
    genuine = RunResult.from_document(RESULT.to_document())
    found = verify(folder, [told(genuine)])
    assert (found.verified, found.different) == (0, (f"{RUN.name}/attempt-1",))
    assert attempts_here(folder, [told(genuine)]) == set()


def test_a_damaged_result_counts_as_absent(folder: ResultsFolder) -> None:
    stored = store(folder.path, RESULT)
    path = folder.path / RUN.name / "attempt-1" / "result.json"
    path.write_text(path.read_text(encoding="utf-8").replace("0.97", "0.99"), encoding="utf-8")
    found = verify(folder, [told(stored)])
    assert (found.verified, found.absent) == (0, (f"{RUN.name}/attempt-1",))


def test_what_is_here_and_what_still_runs_is_not_brought(folder: ResultsFolder) -> None:
    stored = store(folder.path, RESULT)
    other = run_object(
        planned(1), attempts=[attempt(1, "Failed", failure=failure()), attempt(2, "Running")]
    )
    runs = [told(stored), other]
    assert attempts_here(folder, runs) == {(RUN.name, 1)}
    assert attempts_that_run(runs) == {(planned(1).name, 2)}
    assert attempts_over(runs) == {(RUN.name, 1), (planned(1).name, 1)}
    assert as_paths(attempts_here(folder, runs)) == [f"{RUN.name}/attempt-1"]


def test_attempts_are_moved_in_as_wholes_and_replace_what_was_there(
    folder: ResultsFolder, tmp_path: Path
) -> None:
    store(folder.path, succeeded(spec_of(RUN), accuracy=0.5))
    stale = folder.path / RUN.name / "attempt-1" / "stale"
    stale.write_text("", encoding="utf-8")
    inbox = tmp_path / "inbox"
    stored = store(inbox, RESULT)
    assert move_in(inbox, folder) == 1
    assert folder.attempts(RUN.name)[0].result == stored
    assert not stale.exists()
    assert not inbox.exists()


def test_a_folder_belongs_to_one_benchmark(folder: ResultsFolder) -> None:
    check_origin(folder, "0123")
    folder.write_benchmark(origin(benchmark(), "team", "0123"))
    check_origin(folder, "0123")
    with pytest.raises(ClusterError, match="another benchmark of this name"):
        check_origin(folder, "4567")


def test_results_of_this_machine_are_not_mixed_with_a_clusters(folder: ResultsFolder) -> None:
    local = benchmark().model_copy(
        update={"metadata": type(benchmark().metadata).model_validate({"name": "demo"})}
    )
    folder.write_benchmark(local)
    with pytest.raises(ClusterError, match="another --output"):
        check_origin(folder, "0123")
