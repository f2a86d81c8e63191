"""What the supervisor costs a run: its iteration time beside that of torchrun alone.

Both start the same training program on the same spec, in turn, and read the same table of steps.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

import polars as pl

from gpubench.api.layout import RUN_SPEC_FILE, STEPS_FILE
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.reporting.rank_report import rank_steps_path
from gpubench_workloads.supervisor.assemble import iteration_seconds
from gpubench_workloads.supervisor.launch import launch_command, launch_environment
from tests.unit.results import DIGITS, run_spec

PAIRS = 7


def spec_of_bench() -> RunSpec:
    """Return a run of one rank and some 180 steps of about 50 ms."""
    assert DIGITS.image_recognition is not None
    workload = DIGITS.image_recognition.model_copy(update={"epochs": 4, "batch_size": 32})
    spec = run_spec(DIGITS.model_copy(update={"image_recognition": workload}), gpus=1)
    return spec.model_copy(update={"threads_per_rank": 1})


def prepare(folder: Path, spec: RunSpec) -> Path:
    """Make an empty attempt's folder with its spec."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "ranks").mkdir(parents=True)
    (folder / RUN_SPEC_FILE).write_text(spec.model_dump_json(by_alias=True), encoding="utf-8")
    return folder


def supervised(folder: Path, spec: RunSpec) -> pl.DataFrame:
    prepare(folder, spec)
    command = [sys.executable, "-m", "gpubench_workloads.supervisor"]
    arguments = ["--spec", str(folder / RUN_SPEC_FILE), "--output", str(folder)]
    subprocess.run([*command, *arguments], check=True, stdout=subprocess.DEVNULL)
    return pl.read_parquet(folder / STEPS_FILE)


def alone(folder: Path, spec: RunSpec) -> pl.DataFrame:
    prepare(folder, spec)
    environment = launch_environment(spec, folder)
    command = launch_command(spec, folder)
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return pl.read_parquet(rank_steps_path(folder, 0))


def test_supervisor_cost(tmp_path: Path) -> None:
    spec = spec_of_bench()
    ratios = []
    for pair in range(PAIRS):
        means = {}
        order = (supervised, alone) if pair % 2 else (alone, supervised)
        for run in order:
            means[run.__name__] = iteration_seconds(run(tmp_path / "attempt", spec)).median()
        ratios.append(float(means["supervised"]) / float(means["alone"]))  # type: ignore[arg-type]  # medians of floats
        print(f"pair {pair + 1}: {means}, ratio {ratios[-1]:.4f}")
    print(
        f"iteration time, supervised over alone, median of {PAIRS} pairs: {median(ratios):.4f} "
        f"({min(ratios):.4f} to {max(ratios):.4f})"
    )
