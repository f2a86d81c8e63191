"""How far the estimated time of an epoch is from the time that it takes: docs/llm-tuning.md.

A short run of a tuning predicts what the run of its whole epoch then takes, side by side, in turn.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import polars as pl

from tests.integration.llm_tuning.tuned import attempt
from tests.unit.llm_tuning.specs import tuning_spec

ROUNDS = 3
SAMPLES = 600
SHORT_STEPS = 60
"""A fifth of the epoch, of which ten steps are left out as warm-up."""
FIELDS: dict[str, Any] = {
    "dataset": {"source": "Synthetic", "samples": SAMPLES},
    "sequenceLength": 256,
    "warmupSteps": 10,
    "gradientAccumulation": 1,
}


def estimate(folder: Path) -> float:
    """Return what a short run says of its epoch, in seconds."""
    timing = attempt(folder, tuning_spec(**FIELDS, maxSteps=SHORT_STEPS)).timing
    assert timing is not None
    assert timing.epoch_estimate_seconds is not None
    return timing.epoch_estimate_seconds


def whole_epoch(folder: Path) -> float:
    """Return how long the steps of a whole epoch took, in seconds."""
    assert attempt(folder, tuning_spec(**FIELDS, maxSteps=None)).is_valid
    return float(pl.read_parquet(folder / "steps.parquet")["iteration_seconds"].sum())


def test_a_short_run_predicts_the_epoch(tmp_path: Path) -> None:
    ratios = []
    for number in range(ROUNDS):
        predicted = estimate(tmp_path / f"short-{number}")
        taken = whole_epoch(tmp_path / f"whole-{number}")
        ratios.append(predicted / taken)
        print(f"epoch: {predicted:.1f} s predicted, {taken:.1f} s taken, ratio {ratios[-1]:.3f}")
    print(f"median ratio {statistics.median(ratios):.3f} over {ROUNDS} rounds")
    assert 0.5 < statistics.median(ratios) < 2
