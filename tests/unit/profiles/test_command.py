"""gpubench profile: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from gpubench.cli import exit_codes
from gpubench.cli.app import app
from tests.unit.profiles.exports import Export
from tests.unit.profiles.mutations import sound_export


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return sound_export(tmp_path / "rank-0.sqlite")


def run(*arguments: str | Path) -> Result:
    # Some who start tests tell them of a narrow terminal, where long names are cut.
    wide = {"COLUMNS": "160"}
    return CliRunner().invoke(app, ["profile", *map(str, arguments)], env=wide)


def test_the_table_has_families_copies_phases_and_what_the_gpus_did(report: Path) -> None:
    done = run(report)
    assert done.exit_code == exit_codes.OK
    for text in (
        "cudaStreamSynchronize",
        "pinned",
        "forward",
        "idle",
        "ncclAllReduce",
        "Top kernels",
    ):
        assert text in done.stdout


def test_json_has_families_by_their_names(report: Path) -> None:
    document = json.loads(run(report.parent, "--format", "json").stdout)
    families = {family["name"]: family for family in document["families"]}
    assert families["cudaLaunchKernel"]["calls"] == 40
    assert families["cudaLaunchKernel"]["total_seconds"] == pytest.approx(40 * 50e-9)
    assert families["memcpyHostToDevice"]["pinned"]["total_bytes"] > 0
    assert document["source"] == "Nsys"
    totals = [family["total_seconds"] for family in document["families"]]
    assert totals == sorted(totals, reverse=True)


def test_json_lists_every_name(tmp_path: Path) -> None:
    export = Export(tmp_path / "many.sqlite")
    for number in range(100):
        export.call(f"cudaNew{number}", 0, 10)
    document = json.loads(run(export.write(), "--format", "json").stdout)
    assert len(document["unmapped"]) == 100
    assert document["names_left_out"] == 0


def test_csv_and_parquet_have_a_row_for_each_name(report: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(run(report, "--format", "csv").stdout.splitlines()))
    family = next(row for row in rows if row["name"] == "memcpyDeviceToHost")
    assert (family["kind"], family["calls"]) == ("Family", "13")
    assert {row["kind"] for row in rows} >= {"Family", "Phase", "Kernel", "Range", "OsRuntime"}
    target = tmp_path / "out.parquet"
    assert run(report, "--output", target).exit_code == exit_codes.OK
    assert pl.read_parquet(target)["name"].to_list() == [row["name"] for row in rows]


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("html", b"<!DOCTYPE html>")])
def test_pictures(report: Path, tmp_path: Path, suffix: str, start: bytes) -> None:
    target = tmp_path / f"picture.{suffix}"
    assert run(report, "--plot", target).exit_code == exit_codes.OK
    assert target.read_bytes().lstrip().startswith(start)


def test_a_picture_has_a_bar_for_each_family(report: Path, tmp_path: Path) -> None:
    target = tmp_path / "picture.svg"
    run(report, "--plot", target)
    drawn = target.read_text(encoding="utf-8")
    families = json.loads(run(report, "--format", "json").stdout)["families"]
    assert len(families) >= 9
    assert all(f">{family['name']}<" in drawn for family in families)
    # A chart without its data has axes and names, too.
    assert drawn.count('aria-roledescription="bar"') >= len(families)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nothing",), exit_codes.CANNOT_RUN, "there is no such report"),
        (("{report}", "--format", "parquet"), exit_codes.BAD_INPUT, "goes with --output"),
        (("{report}", "--plot", "x.gif"), exit_codes.BAD_INPUT, "allowed: .png, .svg, .html"),
        (("{report}", "--format", "xml"), exit_codes.BAD_INPUT, "xml"),
        (("{report}", "-o", "/nowhere/x.csv"), exit_codes.CANNOT_RUN, "cannot write there"),
    ],
)
def test_what_it_refuses(report: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    done = run(*(word.format(report=report) for word in arguments))
    assert done.exit_code == code
    assert message in done.stderr


def test_help_needs_nothing_heavy() -> None:
    code = (
        "import sys\nfrom gpubench.cli.app import app\n"
        "try: app(['profile', '--help'])\nexcept SystemExit: pass\n"
        "print([m for m in ('polars', 'altair', 'adbc_driver_sqlite', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
