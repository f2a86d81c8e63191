"""What the supervisor costs a run: how fast its rank trains while it works, and while it is frozen.

One run, so that all but the supervisor is the same; frozen and thawed again every second, so that
other work on the machine hits both alike. Its processor time bounds the cost where that is not
enough: a supervisor that does not run slows nobody down.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles

import polars as pl
import psutil
import pytest

from gpubench.api.layout import PROGRESS_FILE, RUN_SPEC_FILE, STEPS_FILE
from gpubench.api.progress import AttemptProgress, Stage
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.reporting.rank_report import read_rank_report
from tests.unit.image_recognition.idx_files import write_idx_dataset
from tests.unit.image_recognition.specs import image_spec

BATCH_SIZE = 8
STEPS = 1500
"""Of one epoch, so that nothing comes between them; some 40 ms each."""
PHASE_SECONDS = 1.0
"""Four times as long as the supervisor's period; with GPUs as long as that of its sampling."""
LARGEST_SHARE = 0.01
"""Of one processor core's time."""


@dataclass(frozen=True)
class Phase:
    """A second of training, from one time of day to another."""

    start: float
    end: float
    supervised: bool
    """Whether the supervisor was at work, not frozen."""

    def mean_step(self, steps: pl.DataFrame) -> float | None:
        """Return the mean time of the steps within this phase; None without any."""
        within = steps.filter((pl.col("start") >= self.start) & (pl.col("end") <= self.end))
        return float(within["iteration_seconds"].to_numpy().mean()) if len(within) else None


@dataclass(frozen=True)
class Observed:
    """A run that was watched from start to end of its training."""

    phases: list[Phase]
    steps: pl.DataFrame
    """With `start` and `end` of each step as times of day."""
    processor_share: float
    """The supervisor's, of one core while it was at work."""


def write_spec(folder: Path) -> Path:
    """Write the spec of a run of one rank with one thread, and the images that it trains on."""
    write_idx_dataset(folder / "images", train=BATCH_SIZE * STEPS, side=28)
    spec: RunSpec = image_spec(
        dataset={"name": "idx", "path": "images"}, batchSize=BATCH_SIZE, evaluation="Disabled"
    ).model_copy(update={"data_root": str(folder)})
    path = folder / "attempt" / RUN_SPEC_FILE
    path.parent.mkdir()
    path.write_text(spec.model_dump_json(by_alias=True), encoding="utf-8")
    return path


def stage(folder: Path) -> Stage | None:
    """Return how far the attempt is."""
    try:
        return AttemptProgress.model_validate_json((folder / PROGRESS_FILE).read_bytes()).stage
    except OSError:
        return None


def let_work(supervisor: psutil.Process, *, supervised: bool) -> Phase:
    """Let the supervisor work or freeze it, for a phase."""
    if not supervised:
        supervisor.suspend()
    start = time.time()
    time.sleep(PHASE_SECONDS)
    end = time.time()
    supervisor.resume()
    return Phase(start, end, supervised)


def processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def observe(spec: Path) -> Observed:
    """Run an attempt under its supervisor, which is frozen in every other second of training."""
    folder = spec.parent
    command = [sys.executable, "-m", "gpubench_workloads.supervisor"]
    arguments = ["--spec", str(spec), "--output", str(folder)]
    with subprocess.Popen([*command, *arguments], stdout=subprocess.DEVNULL) as process:
        supervisor = psutil.Process(process.pid)
        while stage(folder) is not Stage.TRAINING:
            assert process.poll() is None, "the run failed before it trained"
            time.sleep(0.1)
        phases: list[Phase] = []
        before = processor_seconds(supervisor)
        while stage(folder) is Stage.TRAINING:
            phases.append(let_work(supervisor, supervised=len(phases) % 2 == 1))
        used = processor_seconds(supervisor) - before
    assert process.returncode == 0
    working = sum(phase.end - phase.start for phase in phases if phase.supervised)
    report = read_rank_report(folder, 0)
    assert report is not None
    assert report.first_step_at is not None
    end = report.first_step_at + pl.col("iteration_seconds").cum_sum()
    steps = pl.read_parquet(folder / STEPS_FILE).with_columns(end=end)
    steps = steps.with_columns(start=pl.col("end") - pl.col("iteration_seconds"))
    return Observed(phases, steps, used / working)


@pytest.mark.timeout(1800)
def test_supervisor_cost(tmp_path: Path) -> None:
    observed = observe(write_spec(tmp_path))
    ratios = []
    for one, other in pairwise(observed.phases):
        supervised, frozen = (one, other) if one.supervised else (other, one)
        with_it, without = supervised.mean_step(observed.steps), frozen.mean_step(observed.steps)
        if with_it and without:
            ratios.append(with_it / without)
    low, _, high = quantiles(ratios, n=4)
    print(
        f"\nsupervisor: {observed.processor_share:.2%} of one core; iteration time with it over "
        f"that without, median of {len(ratios)} pairs of seconds: {median(ratios):.4f} "
        f"(quartiles {low:.4f} to {high:.4f})"
    )
    assert observed.processor_share < LARGEST_SHARE
