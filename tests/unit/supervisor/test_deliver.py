"""What is left behind, and in which order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpubench.api.compact import CompactResult
from gpubench.api.result import ResultDamagedError, ResultVersionError, RunResult
from gpubench_workloads.supervisor.deliver import TERMINATION_LOG_VARIABLE, deliver
from tests.unit.results import run_spec, succeeded

RESULT = succeeded(run_spec())


def test_whole_and_compact_result_speak_of_the_same(tmp_path: Path) -> None:
    deliver(RESULT, tmp_path)
    whole = RunResult.from_document((tmp_path / "result.json").read_text())
    compact = CompactResult.from_message((tmp_path / "compact.json").read_text())
    assert compact.digest == whole.digest
    assert compact.accuracy == 0.97
    assert compact.iteration is not None
    assert compact.iteration.mean == 0.1


def test_artifacts_are_listed_with_their_hashes(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("hello")
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile" / "rank-0.nsys-rep").write_bytes(b"x" * 10)
    artifacts = {a.path: a for a in deliver(RESULT, tmp_path).artifacts}
    assert set(artifacts) == {"log", "profile/rank-0.nsys-rep"}
    assert artifacts["log"].size_bytes == 5
    assert artifacts["log"].sha256.startswith("2cf24dba5fb0a30e")


def test_termination_message_survives_a_results_folder_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TERMINATION_LOG_VARIABLE, str(tmp_path / "message"))
    folder = tmp_path / "file-in-the-way"
    folder.write_text("")
    with pytest.raises(OSError, match="file-in-the-way"):
        deliver(RESULT, folder)
    assert CompactResult.from_message((tmp_path / "message").read_text()).outcome == "Succeeded"


@pytest.mark.parametrize("kept", [0, 1, 200, -2, -30])
def test_a_cut_document_is_known_as_damaged(tmp_path: Path, kept: int) -> None:
    deliver(RESULT, tmp_path)
    text = (tmp_path / "result.json").read_text()
    with pytest.raises(ResultDamagedError):
        RunResult.from_document(text[:kept])


def test_a_changed_number_is_known_as_damaged(tmp_path: Path) -> None:
    deliver(RESULT, tmp_path)
    text = (tmp_path / "result.json").read_text()
    with pytest.raises(ResultDamagedError, match="digest"):
        RunResult.from_document(text.replace('"accuracy": 0.97', '"accuracy": 0.98'))


def test_a_newer_version_is_named(tmp_path: Path) -> None:
    deliver(RESULT, tmp_path)
    content = json.loads((tmp_path / "result.json").read_text()) | {"schemaVersion": 2}
    with pytest.raises(ResultVersionError, match="schemaVersion: 2 was written by a newer"):
        RunResult.from_document(json.dumps(content))
