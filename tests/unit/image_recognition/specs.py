"""Specs of the image-recognition workload, small enough for a processor."""

from __future__ import annotations

from typing import Any

from gpubench.api.benchmark import Workload
from gpubench.api.image_recognition import ImageRecognition
from gpubench.api.run_spec import RunSpec
from tests.unit.results import run_spec


def image_spec(*, gpus: int = 1, **fields: Any) -> RunSpec:
    """Return the spec of a short run on digits; keywords are fields as users write them."""
    defaults = {
        "dataset": {"name": "digits", "trainImages": 96, "testImages": 60},
        "imageSize": 32,
        "epochs": 1,
        "batchSize": 16,
        "workers": 0,
        "warmupSteps": 0,
    }
    workload = ImageRecognition.model_validate(defaults | fields)
    spec = run_spec(Workload(image_recognition=workload), gpus=gpus)
    # One thread each, so that ranks of tests that run side by side leave each other alone.
    return spec.model_copy(update={"threads_per_rank": 1})
