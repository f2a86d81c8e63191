"""Whole runs of a single rank: every precision, what they report, and that they repeat."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from gpubench.api.layout import PROGRESS_FILE
from gpubench.api.progress import AttemptProgress, Stage
from gpubench_workloads.training.step_clock import StepRecord
from tests.integration.image_recognition.launches import train_here
from tests.unit.image_recognition.specs import image_spec

SMALL = {"name": "digits", "trainImages": 16, "testImages": 16}


@pytest.mark.parametrize(
    ("precision", "casting"),
    [
        ("FP64", "Auto"),
        ("FP32", "Auto"),
        ("TF32", "Auto"),
        ("BF16", "Autocast"),
        ("BF16", "Pure"),
        ("FP16", "Autocast"),
        ("FP16", "Pure"),
    ],
)
def test_every_precision_trains(tmp_path: Path, precision: str, casting: str) -> None:
    # So few images that they are soon learned by heart: half precision is slow on a processor.
    spec = image_spec(dataset=SMALL, batchSize=8, precision=precision, casting=casting, epochs=8)
    (report,) = train_here(tmp_path, spec).reports
    assert report.quality is not None
    losses = report.quality.epoch_losses
    assert all(math.isfinite(loss) for loss in losses)
    assert losses[-1] < losses[0] * 0.95
    casting_told = report.settings["casting"]
    assert casting_told == (casting if precision in {"BF16", "FP16"} else "none")


def test_a_run_repeats_bit_for_bit(tmp_path: Path) -> None:
    spec = image_spec(epochs=2, evaluation="EveryEpoch", workers=1)
    first, second = (train_here(tmp_path / name, spec) for name in ("first", "second"))
    assert first.reports[0].quality == second.reports[0].quality
    other = image_spec(epochs=2, evaluation="EveryEpoch", seed=1)
    assert train_here(tmp_path / "other", other).reports[0].quality != first.reports[0].quality


def test_pipelines_train_the_same_model(tmp_path: Path) -> None:
    pipelines = ("DataLoader", "DeviceResident")
    first, second = (
        train_here(tmp_path / name, image_spec(inputPipeline=name)).reports[0] for name in pipelines
    )
    assert first.quality == second.quality
    assert first.settings["images"] != second.settings["images"]


def test_a_report_is_complete(tmp_path: Path) -> None:
    spec = image_spec(epochs=2, warmupSteps=2, evaluation="EveryEpoch")
    run = train_here(tmp_path, spec)
    (report,), (steps,) = run.reports, run.steps
    assert (report.steps, report.epochs, report.dataset_samples) == (12, 2, 96)
    assert (report.samples_loaded, report.samples_trained) == (192, 192)
    assert report.failure is None
    assert report.warmup_steps == 3
    assert len(report.epoch_seconds) == 2
    assert report.training_seconds == pytest.approx(sum(report.epoch_seconds))
    assert report.evaluation_seconds > 0
    assert report.threads == 1
    assert report.memory is not None
    assert report.memory.allocated_bytes is None
    assert (report.memory.resident_bytes or 0) > 100 * 2**20
    assert report.flops_per_sample == pytest.approx(36e6, rel=0.05)
    assert report.quality is not None
    assert report.quality.test_samples == 60
    assert len(report.quality.epoch_accuracies) == 2
    assert report.quality.accuracy == report.quality.epoch_accuracies[-1]
    assert report.software["torch"] == torch.__version__
    assert report.dataset["name"] == "digits"
    assert steps.columns == ["rank", *StepRecord.__dataclass_fields__]
    assert steps["step"].to_list() == list(range(1, 13))
    assert steps["epoch"].to_list() == [1] * 6 + [2] * 6
    assert steps["samples"].sum() == 192
    assert (~steps["steady"]).sum() == report.warmup_steps


def test_phases_make_up_the_iteration(tmp_path: Path) -> None:
    (steps,) = train_here(tmp_path, image_spec()).steps
    phases = ("data", "host_to_device", "compute", "optimizer")
    in_phases = sum(steps[f"{phase}_seconds"].sum() for phase in phases)
    assert in_phases == pytest.approx(steps["iteration_seconds"].sum(), rel=0.1)


def test_training_time_is_that_of_the_steps(tmp_path: Path) -> None:
    run = train_here(tmp_path, image_spec(epochs=2))
    in_steps = run.steps[0]["iteration_seconds"].sum()
    assert run.reports[0].training_seconds == pytest.approx(in_steps, rel=0.1)


def test_data_parallel_is_one_process_with_a_batch_for_all(tmp_path: Path) -> None:
    dataset = {"name": "digits", "trainImages": 83, "testImages": 16}
    spec = image_spec(gpus=2, strategy="DataParallel", dataset=dataset, batchSize=16)
    run = train_here(tmp_path, spec)
    (report,) = run.reports
    assert (report.samples_loaded, report.samples_trained) == (83, 83)
    assert run.steps[0]["samples"].to_list() == [32, 32, 19]
    assert run.steps[0]["steady"].to_list() == [False, True, False]


def test_nothing_is_evaluated_that_was_not_asked_for(tmp_path: Path) -> None:
    (report,) = train_here(tmp_path, image_spec(evaluation="Disabled")).reports
    assert report.quality is not None
    assert (report.quality.accuracy, report.quality.test_samples) == (None, 0)
    assert report.evaluation_seconds == 0


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    train_here(tmp_path, image_spec(epochs=2))
    progress = AttemptProgress.model_validate_json((tmp_path / PROGRESS_FILE).read_bytes())
    assert progress.stage is Stage.FINISHING
    assert (progress.step, progress.steps) == (12, 12)
    assert (progress.epoch, progress.epochs) == (2, 2)
    assert progress.loss is not None


@pytest.mark.parametrize("optimizer", ["AdamW", "SGD"])
def test_other_optimizers_train(tmp_path: Path, optimizer: str) -> None:
    spec = image_spec(optimizer=optimizer, learningRate="0.01", memoryFormat="ChannelsLast")
    (report,) = train_here(tmp_path, spec).reports
    assert report.settings["optimizer"].startswith(f"{optimizer}(lr=0.01")
