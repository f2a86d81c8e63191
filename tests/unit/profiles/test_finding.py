"""Which reports a path stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpubench.profiles import ProfileError
from gpubench.profiles.finding import find_reports


def made(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_a_report_is_itself_with_the_rank_of_its_name(tmp_path: Path) -> None:
    made(tmp_path / "rank-3.nsys-rep", tmp_path / "any.sqlite")
    assert find_reports(tmp_path / "rank-3.nsys-rep") == {3: tmp_path / "rank-3.nsys-rep"}
    assert find_reports(tmp_path / "any.sqlite") == {0: tmp_path / "any.sqlite"}


def test_a_folder_of_parquet_files_is_one_report(tmp_path: Path) -> None:
    made(tmp_path / "OSRT_API.parquet")
    assert find_reports(tmp_path) == {0: tmp_path}


def test_the_recording_is_taken_before_an_export_of_who_knows_what(tmp_path: Path) -> None:
    made(*(tmp_path / f"rank-1{suffix}" for suffix in (".sqlite", ".nsys-rep", ".kineto.json.gz")))
    made(tmp_path / "rank-0.kineto.json.gz", tmp_path / "rank-0.log", tmp_path / "more.nsys-rep")
    assert find_reports(tmp_path) == {
        0: tmp_path / "rank-0.kineto.json.gz",
        1: tmp_path / "rank-1.nsys-rep",
    }


def test_reports_of_any_names_are_ranks_in_their_order(tmp_path: Path) -> None:
    made(tmp_path / "b.sqlite", tmp_path / "a.nsys-rep", tmp_path / "a.sqlite")
    assert find_reports(tmp_path) == {0: tmp_path / "a.nsys-rep", 1: tmp_path / "b.sqlite"}


def test_a_run_stands_for_its_last_attempt_that_has_reports(tmp_path: Path) -> None:
    made(tmp_path / "attempt-2" / "profile" / "rank-0.nsys-rep")
    made(tmp_path / "attempt-9" / "profile" / "rank-0.nsys-rep", tmp_path / "attempt-10" / "log")
    expected = {0: tmp_path / "attempt-9" / "profile" / "rank-0.nsys-rep"}
    assert find_reports(tmp_path) == expected
    assert find_reports(tmp_path / "attempt-9") == expected


def test_a_folder_without_reports_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="there are no reports in this folder"):
        find_reports(tmp_path)
    with pytest.raises(ProfileError, match="there is no such report"):
        find_reports(tmp_path / "nothing")
