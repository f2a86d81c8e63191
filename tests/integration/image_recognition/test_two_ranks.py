"""Whole runs of two ranks: what each strategy loads, trains and shares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from gpubench_workloads.image_recognition.plan import RunPlan
from gpubench_workloads.image_recognition.setup import build_network
from tests.integration.image_recognition.launches import Trained, train, train_under_torchrun
from tests.unit.image_recognition.specs import image_spec

# 83 images in batches of 16: five full batches and one of three.
DATASET = {"name": "digits", "trainImages": 83, "testImages": 61}


def run(folder: Path, strategy: str, **fields: Any) -> Trained:
    return train(folder, image_spec(gpus=2, strategy=strategy, dataset=DATASET, **fields))


def counts(trained: Trained) -> list[tuple[int, int]]:
    return [(report.samples_loaded, report.samples_trained) for report in trained.reports]


def test_ddp(tmp_path: Path) -> None:
    trained = run(tmp_path, "DDP", epochs=2)
    assert counts(trained) == [(166, 166), (166, 166)]
    for steps in trained.steps:
        assert steps["samples"].to_list() == [16, 16, 16, 16, 16, 3] * 2
        assert steps["steady"].to_list() == [False, True, True, True, True, False] * 2
    first, second = trained.reports
    assert first.quality == second.quality
    assert first.settings["backend"] == "gloo"


def test_ddp_rr(tmp_path: Path) -> None:
    trained = run(tmp_path, "DDP-RR", epochs=2, inputPipeline="DeviceResident")
    assert counts(trained) == [(166, 96), (166, 70)]
    assert [steps["samples"].to_list() for steps in trained.steps] == [
        [16, 16, 16] * 2,
        [16, 16, 3] * 2,
    ]
    for steps in trained.steps:
        # The round with the small batch is steady on no rank, not even where the batch is full.
        assert steps["steady"].to_list() == [False, True, False] * 2


def test_ddp_rr_leaves_an_incomplete_round(tmp_path: Path) -> None:
    trained = run(tmp_path, "DDP-RR", batchSize=17)  # five batches, the last one of 15
    assert counts(trained) == [(83, 34), (83, 34)]


def test_ddp_ds(tmp_path: Path) -> None:
    fields = {"dataset": DATASET, "epochs": 2, "workers": 1, "evaluation": "EveryEpoch"}
    trained = train_under_torchrun(tmp_path, image_spec(gpus=2, strategy="DDP-DS", **fields))
    assert counts(trained) == [(84, 84), (84, 84)]
    for steps in trained.steps:
        assert steps["samples"].to_list() == [16, 16, 10] * 2
    quality = trained.reports[0].quality
    assert quality is not None
    assert quality.test_samples == 61
    # Of 61 images exactly: no image is left out or counted twice.
    for accuracy in quality.epoch_accuracies:
        assert accuracy * 61 == pytest.approx(round(accuracy * 61), abs=1e-9)
    assert trained.reports[1].quality == quality


@pytest.mark.parametrize("precision", ["BF16", "FP16"])
def test_pure_half_precision_is_averaged_too(tmp_path: Path, precision: str) -> None:
    dataset = {"name": "digits", "trainImages": 16, "testImages": 8}
    spec = image_spec(gpus=2, dataset=dataset, batchSize=4, precision=precision, casting="Pure")
    first, second = train(tmp_path, spec).reports
    assert first.quality == second.quality
    assert first.settings["weightsFormat"] == f"{'bfloat' if precision == 'BF16' else 'float'}16"


def test_two_ranks_average_to_the_same_run_twice(tmp_path: Path) -> None:
    first, second = (run(tmp_path / name, "DDP-DS") for name in ("first", "second"))
    assert [r.quality for r in first.reports] == [r.quality for r in second.reports]


def test_all_ranks_start_from_the_weights_of_a_single_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that runs of one and of several ranks can be compared."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    weights = []
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        weights.append(build_network(RunPlan.make(image_spec(gpus=2))).state_dict())
    monkeypatch.delenv("WORLD_SIZE")
    monkeypatch.delenv("RANK")
    weights.append(build_network(RunPlan.make(image_spec())).state_dict())
    for name, weight in weights[0].items():
        assert torch.equal(weight, weights[1][name])
        assert torch.equal(weight, weights[2][name])
