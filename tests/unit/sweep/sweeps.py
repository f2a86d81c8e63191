"""Benchmarks to expand, made from plain values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.errors import SpecError
from gpubench.sweep.expansion import expand
from gpubench.sweep.plan import Plan

IMAGE: dict[str, Any] = {"imageRecognition": {}}
LLM: dict[str, Any] = {"llmTuning": {}}

AXES = st.fixed_dictionaries(
    {},
    optional={
        "gpus": st.lists(st.integers(1, 8), min_size=1, max_size=4, unique=True),
        "imageSize": st.lists(st.integers(8, 2048), min_size=1, max_size=4, unique=True),
        "precision": st.lists(
            st.sampled_from(["FP64", "FP32", "TF32"]), min_size=1, max_size=3, unique=True
        ),
        "pinMemory": st.lists(st.booleans(), min_size=1, max_size=2, unique=True),
        "dataset": st.lists(
            st.sampled_from(["digits", "mnist", "idx"]), min_size=1, max_size=3, unique=True
        ),
    },
)
"""Matrices of the image-recognition workload without combinations that it refuses."""


def benchmark(
    workload: dict[str, Any] = IMAGE, name: str = "demo", spec: Any = None, **sweep: Any
) -> GPUBenchmark:
    """Return a benchmark with this workload and sweep, and further fields of its spec."""
    return GPUBenchmark.model_validate(
        {
            "metadata": {"name": name},
            "spec": {"workload": workload, "sweep": sweep} | (spec or {}),
        }
    )


def plan(workload: dict[str, Any] = IMAGE, **fields: Any) -> Plan:
    return expand(benchmark(workload, **fields))


def complaints(workload: dict[str, Any] = IMAGE, **fields: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        plan(workload, **fields)
    return str(caught.value).splitlines()
