"""What a spec may choose, on one rank in this process: text on disk, precision, packing."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gpubench.api.enums import DatasetName, FailureClass
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.llm_tuning.__main__ import main
from gpubench_workloads.llm_tuning.synthetic_text import make_samples
from gpubench_workloads.llm_tuning.text_files import COLUMNS
from gpubench_workloads.reporting.rank_report import (
    RankReport,
    rank_steps_path,
    read_rank_report,
)
from tests.unit.llm_tuning.specs import tuning_spec


def tune(folder: Path, spec: RunSpec, code: int = 0) -> RankReport:
    """Run the only rank of a run, as torchrun would, and return its report."""
    folder.mkdir(exist_ok=True)
    path = folder / "run.json"
    spec = spec.model_copy(update={"data_root": str(folder.parent / "data")})
    path.write_text(spec.model_dump_json(by_alias=True), encoding="utf-8")
    assert main(["--spec", str(path), "--output", str(folder)]) == code
    report = read_rank_report(folder, 0)
    assert report is not None
    return report


def write_text(folder: Path, name: DatasetName) -> None:
    """Write a dataset as it is published."""
    folder.mkdir(parents=True)
    samples = list(make_samples(name, 48, seed=3))
    match name:
        case DatasetName.ALPACA_CLEANED:
            (folder / "alpaca_data_cleaned.json").write_text(json.dumps(samples, indent=4))
        case DatasetName.GRAMMAR:
            with (folder / "C4_200M.tsv-00000-of-00010").open("w", newline="") as file:
                rows = ((sample["input"], sample["output"]) for sample in samples)
                csv.writer(file, delimiter="\t").writerows(rows)
        case DatasetName.SLIMORCA:
            lines = (json.dumps(sample) + "\n" for sample in samples)
            (folder / "SlimOrca-Dedup.jsonl").write_text("".join(lines))
        case _:
            below = "data/rl" if name is DatasetName.PREFERENCE else "."
            (folder / below).mkdir(parents=True, exist_ok=True)
            pl.DataFrame(samples).write_parquet(folder / below / "train-00000-of-00001.parquet")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(COLUMNS))
def test_each_dataset_is_read_as_it_is_published(tmp_path: Path, name: DatasetName) -> None:
    write_text(tmp_path / "data" / name, name)
    method = "LoRA-DPO" if name is DatasetName.PREFERENCE else "LoRA"
    spec = tuning_spec(method=method, dataset={"name": str(name)}, maxSteps=3, sequenceLength=1024)
    report = tune(tmp_path / "attempt", spec)
    assert report.failure is None
    assert report.dataset_samples == 48
    assert report.steps == 3
    assert report.tokens_trained
    assert "synthetic" not in report.dataset


# torch says that it normalises numbers of two formats more slowly; torchtune gives it such.
@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight:UserWarning")
@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [
        {"precision": "BF16", "activationCheckpointing": "Full", "method": "QLoRA"},
        {"packed": True, "sequenceLength": 256},
        {"gradientAccumulation": 4, "method": "Full"},
        {"weights": {"source": "Random"}, "pinMemory": True},
    ],
    ids=lambda fields: "-".join(map(str, fields)),
)
def test_choices_are_followed(tmp_path: Path, fields: dict[str, Any]) -> None:
    report = tune(tmp_path / "attempt", tuning_spec(**fields, maxSteps=4))
    assert report.failure is None
    assert report.steps == 4
    assert report.quality
    assert report.quality.final_loss
    assert report.quality.final_loss < 7.2
    rows = 2 * fields.get("gradientAccumulation", 1)
    steps = pl.read_parquet(rank_steps_path(tmp_path / "attempt", 0))
    assert steps["samples"].to_list() == [rows] * 4
    filled = steps["tokens"] + steps["padding_tokens"]
    if "packed" in fields:
        assert filled.to_list() == [rows * 256] * 4
        assert report.padding_tokens is not None
        assert report.tokens_trained
        assert report.padding_tokens < 0.3 * report.tokens_trained


@pytest.mark.slow
def test_the_same_seed_gives_the_same_losses(tmp_path: Path) -> None:
    losses = []
    for name in ("first", "again"):
        tune(tmp_path / name, tuning_spec(maxSteps=5))
        losses.append(pl.read_parquet(rank_steps_path(tmp_path / name, 0))["loss"].to_list())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


@pytest.mark.slow
def test_a_diverged_training_is_told(tmp_path: Path) -> None:
    spec = tuning_spec(method="Full", learningRate="1e30", maxSteps=10)
    report = tune(tmp_path / "attempt", spec, code=1)
    assert report.failure
    assert report.failure.failure_class is FailureClass.NON_FINITE_LOSS
    assert "lower learningRate" in report.failure.message


@pytest.mark.slow
def test_answers_that_are_cut_off_are_told(tmp_path: Path) -> None:
    dataset = {"name": "slimorca", "source": "Synthetic"}
    spec = tuning_spec(dataset=dataset, sequenceLength=16, maxSteps=3)
    report = tune(tmp_path / "attempt", spec, code=1)
    assert report.failure
    assert report.failure.failure_class is FailureClass.BAD_SPEC
    assert report.failure.message == (
        "no token of step 1 counts for the loss: sequenceLength cuts off the answers of all its "
        "samples; raise sequenceLength or batchSize"
    )


@pytest.mark.slow
def test_a_full_checkpoint_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_named: object) -> None:
        raise OSError(28, "No space left on device", "adapter_model.pt")

    monkeypatch.setattr("torch.save", fail)
    spec = tuning_spec(weights={"source": "Random"}, maxSteps=2)
    report = tune(tmp_path / "attempt", spec, code=1)
    assert report.failure
    assert report.failure.failure_class is FailureClass.ENVIRONMENT
    assert report.failure.message.startswith("checkpoint folder full: ")


@pytest.mark.slow
def test_a_model_that_memory_cannot_hold_is_refused_before_it_is_made(tmp_path: Path) -> None:
    spec = tuning_spec(
        model="llama3-8b", method="Full", weights={"source": "Random"}, sequenceLength=128
    )
    report = tune(tmp_path / "attempt", spec, code=1)
    assert report.failure
    assert report.failure.failure_class is FailureClass.OUT_OF_MEMORY
    assert "model: llama3-8b with method: Full needs 119.7 GiB" in report.failure.message
    assert not (tmp_path / "attempt" / "scratch").exists()
