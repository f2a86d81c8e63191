"""Windows of real trainings, by a real nsys and by torch.profiler."""

from __future__ import annotations

import subprocess
from pathlib import Path

import polars as pl
import pytest

from gpubench_workloads.profiling import ranges
from tests.integration.profiling.runs import (
    SECRET,
    STEPS,
    profile_gate,
    run_spec,
    run_to_end,
)

pytestmark = pytest.mark.slow


def test_two_ranks_by_steps(tmp_path: Path, nsys: Path) -> None:
    spec = run_spec(2, mode="Window", steps=14, keepReports="Always")
    result = run_to_end(tmp_path, spec, nsys)
    profile = result.profile
    assert profile is not None
    assert profile.source == "Nsys"
    assert (profile.window.first_step, profile.window.steps) == (17, 14)
    assert profile.families
    assert profile.overhead is not None
    gate = profile_gate(result)
    assert gate.passed, gate.message
    assert gate.message.startswith("steps 17 to 30, ")

    calls = {phase.name: phase.calls for phase in profile.phases}
    every_step = (ranges.STEP, ranges.FORWARD, ranges.BACKWARD, ranges.OPTIMIZER)
    assert {calls[name] for name in (*every_step, ranges.HOST_TO_DEVICE)} == {28}
    # Each rank waits once more to learn that an epoch's data is at its end.
    assert calls[ranges.DATA] == 30
    # The window begins in the first of two epochs of 24 steps and ends in the second.
    assert calls[ranges.EPOCH] == 4

    steps = pl.read_parquet(tmp_path / "steps.parquet")
    assert sorted(steps.filter("profiled")["step"].unique()) == list(range(17, 31))
    assert steps.filter(pl.col("profiled") & pl.col("steady")).is_empty()
    assert result.timing is not None
    assert result.timing.iteration is not None
    assert result.timing.iteration.count == steps.filter("steady")["step"].n_unique()
    assert result.timing.profiled is None

    reports = {f"profile/rank-{rank}.nsys-rep" for rank in range(2)}
    assert reports <= {artifact.path for artifact in result.artifacts}
    exports = [tmp_path / f"{Path(report).stem}.sqlite" for report in reports]
    for report, export in zip(sorted(reports), sorted(exports), strict=True):
        command = [
            str(nsys),
            "export",
            "--type=sqlite",
            f"--output={export}",
            str(tmp_path / report),
        ]
        subprocess.run(command, check=True, capture_output=True)
    assert b"WORLD_SIZE" in exports[0].read_bytes()
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_everything(tmp_path: Path, nsys: Path) -> None:
    result = run_to_end(tmp_path, run_spec(1, mode="Whole", keepReports="OnFailure"), nsys)
    assert result.profile is not None
    assert (result.profile.window.first_step, result.profile.window.steps) == (1, STEPS)
    assert result.profile.overhead is None
    assert "no unprofiled steps" in profile_gate(result).message
    assert result.timing is not None
    assert result.timing.profiled is True
    # Reduced without fault, so not kept.
    assert not (tmp_path / "profile").exists()


def test_seconds_without_nsys(tmp_path: Path) -> None:
    spec = run_spec(2, mode="Window", durationSeconds=1, keepReports="Always")
    result = run_to_end(tmp_path, spec, nsys="")
    profile = result.profile
    assert profile is not None
    assert profile.source == "Kineto"
    assert profile.window.first_step == 1
    gate = profile_gate(result)
    assert gate.passed, gate.message
    assert "by torch.profiler: there is no nsys" in gate.message
    assert (tmp_path / "profile" / "rank-1.kineto.json.gz").exists()


def test_a_training_that_is_too_short(tmp_path: Path, nsys: Path) -> None:
    result = run_to_end(tmp_path, run_spec(1, mode="Window", steps=60), nsys)
    assert result.profile is None
    gate = profile_gate(result)
    assert not gate.passed
    assert gate.message == (
        "the training ended after 48 steps, before the window opened after 62 (warmupSteps: 2, "
        "then steps: 60 without the profiler); set steps: 23 at most, or train for at least 122 "
        "steps"
    )
