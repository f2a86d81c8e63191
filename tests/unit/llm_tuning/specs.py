"""Specs of the LLM-tuning workload, small enough for a processor."""

from __future__ import annotations

from typing import Any

from gpubench.api.benchmark import Workload
from gpubench.api.llm_tuning import LLMTuning
from gpubench.api.run_spec import RunSpec
from tests.unit.results import run_spec


def tuning(**fields: Any) -> LLMTuning:
    """Return a short tuning of the tiny model; keywords are fields as users write them."""
    preference = str(fields.get("method", "")).endswith("DPO")
    defaults = {
        "model": "tiny-llama",
        "dataset": {
            "name": "preference" if preference else "alpaca-cleaned",
            "source": "Synthetic",
            "samples": 128,
        },
        "sequenceLength": 512 if preference else 128,
        "batchSize": 2,
        "precision": "FP32",
        "learningRate": "0.0003" if preference else "0.003",
        "warmupSteps": 2,
        "maxSteps": 14,
        "activationCheckpointing": "Disabled",
    }
    return LLMTuning.model_validate(defaults | fields)


def tuning_spec(*, gpus: int = 1, **fields: Any) -> RunSpec:
    """Return the spec of such a run."""
    spec = run_spec(Workload(llm_tuning=tuning(**fields)), gpus=gpus)
    # One thread each, so that ranks of tests that run side by side leave each other alone.
    return spec.model_copy(update={"threads_per_rank": 1})
