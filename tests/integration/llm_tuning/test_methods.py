"""Every method tunes the tiny model on one rank and on two: losses fall, results are valid."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from gpubench.api.enums import NsysMode
from gpubench.api.execution import NsysProfiling, Profiling
from tests.integration.llm_tuning.tuned import attempt
from tests.unit.llm_tuning.specs import tuning_spec

METHODS = ["LoRA", "QLoRA", "Full", "DPO", "LoRA-DPO", "QAT", "QAT-LoRA"]


@pytest.mark.slow
@pytest.mark.parametrize("gpus", [1, 2])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_and_its_result_is_valid(
    tmp_path: Path, method: str, gpus: int
) -> None:
    result = attempt(tmp_path, tuning_spec(method=method, gpus=gpus, maxSteps=24))
    assert result.is_valid, result.failure or result.validity
    assert result.timing
    assert result.timing.iteration
    assert result.timing.steps == 24
    assert result.timing.iteration.count == 22
    assert result.quality
    assert result.quality.first_loss
    assert result.quality.final_loss
    assert result.quality.final_loss < result.quality.first_loss
    assert result.throughput
    assert result.throughput.tokens_per_second
    assert len(result.memory) == gpus
    assert result.provenance.dataset["synthetic"]
    assert [artifact.path for artifact in result.artifacts] == [
        "steps.parquet",
        "recipe.yaml",
        "log",
    ]
    assert not (tmp_path / "scratch").exists()


@pytest.mark.slow
def test_tokens_samples_and_steps_add_up(tmp_path: Path) -> None:
    dataset = {"source": "Synthetic", "samples": 64}
    spec = tuning_spec(gpus=2, dataset=dataset, maxSteps=None, gradientAccumulation=2, epochs=2)
    result = attempt(tmp_path, spec)
    assert result.is_valid
    assert result.work
    # 64 samples on two ranks in batches of 2, two of which make a step: 8 steps in each epoch.
    assert result.work.dataset_samples == 64
    assert result.work.samples_trained == [64, 64]
    assert result.work.epochs == 2
    assert result.timing
    assert result.timing.steps == 16
    steps = pl.read_parquet(tmp_path / "steps.parquet")
    tokens = steps.group_by("rank").agg(pl.col("tokens").sum()).sort("rank")["tokens"]
    assert result.work.tokens_trained == tokens.to_list()
    assert steps["learned_tokens"].max() <= steps["tokens"].max()  # type: ignore[operator]
    steady = steps.filter(pl.col("steady"))
    slowest = steady.group_by("step").agg(pl.col("iteration_seconds").max())
    assert result.throughput
    rate = int(steady["tokens"].sum()) / float(slowest["iteration_seconds"].sum())
    assert result.throughput.tokens_per_second == pytest.approx(rate)
    assert result.timing.iteration
    assert result.timing.epoch_estimate_seconds == pytest.approx(result.timing.iteration.mean * 8)


@pytest.mark.slow
def test_a_window_of_a_tuning_is_profiled_on_both_ranks(tmp_path: Path) -> None:
    window = NsysProfiling(mode=NsysMode.WINDOW, warmup_steps=4, steps=4)
    spec = tuning_spec(gpus=2, maxSteps=24)
    spec = spec.model_copy(update={"profiling": Profiling(nsys=window)})
    result = attempt(tmp_path, spec)
    assert result.is_valid, result.failure or result.validity
    assert result.profile, result.validity
    assert result.profile.window.steps == 4
    steps = pl.read_parquet(tmp_path / "steps.parquet")
    profiled = steps.filter(pl.col("profiled"))
    assert profiled.group_by("rank").len()["len"].to_list() == [4, 4]
    assert result.timing
    assert result.timing.iteration
    assert result.timing.iteration.count is not None
    assert result.timing.iteration.count >= 10
