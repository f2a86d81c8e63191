"""Where tests find the real MNIST, which the project does not ship."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gpubench.api.run_spec import RunSpec
from gpubench_workloads.image_recognition.datasets.idx import missing_files
from tests.unit.image_recognition.specs import image_spec

VARIABLE = "GPUBENCH_TEST_MNIST"
BESIDE_THE_CHECKOUT = Path(__file__).parents[4] / "shared" / "data" / "mnist"


def mnist_spec(*, gpus: int = 1, train_images: int = 60_000, **fields: Any) -> RunSpec:
    """Return the spec of a run on MNIST; without the files, skip the test and say why."""
    folder = Path(os.environ.get(VARIABLE, BESIDE_THE_CHECKOUT))
    if missing_files(folder):
        pytest.skip(f"MNIST's four IDX files are not in {folder}; set {VARIABLE} to their folder")
    dataset = {"name": "mnist", "path": folder.name, "download": "Never"}
    limits = {"trainImages": train_images}
    spec = image_spec(gpus=gpus, dataset={**dataset, **limits}, **fields)
    return spec.model_copy(update={"data_root": str(folder.parent)})
