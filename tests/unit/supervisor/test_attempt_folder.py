"""An attempt's folder on a results volume."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpubench_workloads.supervisor.attempt_folder import make_attempt_folder


def test_folder_is_made_with_its_spec(tmp_path: Path) -> None:
    folder = tmp_path / "lab" / "demo" / "demo-abcdefghij-1" / "attempt-1"
    make_attempt_folder(folder, "the spec")
    assert [path.name for path in folder.iterdir()] == ["run.json"]
    assert (folder / "run.json").read_text(encoding="utf-8") == "the spec"


def test_what_a_pod_before_left_is_moved_aside_and_kept(tmp_path: Path) -> None:
    """Else its result could be taken for that of the pod that replaced it."""
    folder = tmp_path / "attempt-1"
    for number in range(3):
        make_attempt_folder(folder, f"spec {number}")
        (folder / "result.json").write_text(f"result {number}", encoding="utf-8")
    replaced = sorted(tmp_path.glob("attempt-1.replaced-*"))
    kept = [(path / "result.json").read_text(encoding="utf-8") for path in replaced]
    assert kept == ["result 0", "result 1"]
    assert (folder / "run.json").read_text(encoding="utf-8") == "spec 2"


def test_file_in_the_way_is_moved_aside(tmp_path: Path) -> None:
    folder = tmp_path / "attempt-1"
    folder.write_text("what is this", encoding="utf-8")
    make_attempt_folder(folder, "the spec")
    assert folder.is_dir()
    assert len(list(tmp_path.glob("attempt-1.replaced-*"))) == 1


def test_volume_that_cannot_be_written_to_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "lab").write_text("a file", encoding="utf-8")
    with pytest.raises(OSError, match="lab"):
        make_attempt_folder(tmp_path / "lab" / "demo", "the spec")
