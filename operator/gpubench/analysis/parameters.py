"""A point's parameters as one flat mapping: what makes two points equal but for one of them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from pydantic.alias_generators import to_camel

from gpubench.api.base import ApiModel
from gpubench.api.benchmark import Workload
from gpubench.api.sweep import PARAMETER_FIELDS
from gpubench.sweep.hashing import DECIMAL_FIELDS, canonical_decimal

ParameterValue = str | int | bool | None
FlatParameters = Mapping[str, ParameterValue]

GPUS = "gpus"
PRECISION = "precision"
PIN_MEMORY = "pinMemory"
STRATEGY = "strategy"
IMAGE_SIZE = "imageSize"
DATASET = "dataset"
MODEL = "model"
MAX_STEPS = "maxSteps"

# How the dataset gets there is not what is trained: two points that differ in it alone are equal.
NOT_COMPARED = frozenset({"dataset.download"})

TITLES = {
    GPUS: "GPUs",
    "imageSize": "Image size",
    "batchSize": "Batch size",
    "pinMemory": "Pin memory",
    "memoryFormat": "Memory format",
    "inputPipeline": "Input pipeline",
    "learningRate": "Learning rate",
    "warmupSteps": "Warm-up steps",
    "maxSteps": "Max steps",
    "sequenceLength": "Sequence length",
    "gradientAccumulation": "Gradient accumulation",
    "activationCheckpointing": "Activation checkpointing",
    "loraRank": "LoRA rank",
    "loraAlpha": "LoRA alpha",
    "dataset.trainImages": "Training images",
    "dataset.testImages": "Test images",
    "dataset.path": "Dataset path",
    "dataset.source": "Text source",
    "weights.source": "Weights",
    "weights.path": "Weights path",
}


def flat_parameters(workload: Workload, gpus: int) -> dict[str, ParameterValue]:
    """Return every parameter of a point under its name in the spec, nested ones with a dot.

    The dataset's name stands as `dataset`, as it does in a sweep's matrix; equal decimal numbers
    are written alike (`3e-4` as `0.0003`), so that equal points are found equal.
    """
    flat: dict[str, ParameterValue] = {GPUS: gpus}
    for name, value in workload.parameters.model_dump(mode="json", by_alias=True).items():
        if isinstance(value, dict):
            flat.update(_nested(name, value))
        else:
            flat[name] = value
    return {
        name: canonical_decimal(str(value)) if name in DECIMAL_FIELDS else value
        for name, value in flat.items()
        if name not in NOT_COMPARED
    }


def _nested(name: str, values: dict[str, Any]) -> dict[str, ParameterValue]:
    return {name if key == "name" else f"{name}.{key}": value for key, value in values.items()}


def title_of(name: str, *, on_cpu: bool = False) -> str:
    """Return how a parameter is headed in a table; on a processor there are no GPUs but ranks."""
    if on_cpu and name == GPUS:
        return "CPU ranks"
    return TITLES.get(name, name[:1].upper() + name[1:])


def display_value(name: str, value: object) -> str:
    """Return a parameter's value as people read it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return _UNSET.get(name, "none")
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, ApiModel):
        return str(getattr(value, "name", value))
    return f"{value} px" if name == IMAGE_SIZE else str(value)


_UNSET = {
    "dataset.trainImages": "all",
    "dataset.testImages": "all",
    MAX_STEPS: "no limit",
    "sequenceLength": "the model's",
}


def has_meaning_when_unset(name: str) -> bool:
    """Whether leaving the parameter out says something worth a line."""
    return name in _UNSET


def phrase(name: str, value: object, *, on_cpu: bool = False) -> str:
    """Return one parameter in the words of a chart's label: "4 GPUs", "FP16", "pin memory on"."""
    if name == GPUS:
        worker = "CPU rank" if on_cpu else "GPU"
        return f"{value} {worker}" if value == 1 else f"{value} {worker}s"
    if name in _SELF_EXPLAINING:
        return display_value(name, value)
    return f"{title_of(name).lower()} {display_value(name, value)}"


_SELF_EXPLAINING = frozenset(
    {STRATEGY, PRECISION, MODEL, DATASET, IMAGE_SIZE, "method", "inputPipeline", "optimizer"}
)


def sort_key(name: str, value: ParameterValue) -> tuple[int, float, str]:
    """Order values as the spec lists them: numbers by size, words by their enum's order."""
    if value is None:
        return (2, 0.0, "")
    if isinstance(value, bool | int):
        return (0, float(value), "")
    ranks = _ENUM_RANKS.get(name, {})
    return (1, float(ranks.get(value, len(ranks))), value)


def _enum_ranks() -> dict[str, dict[str, int]]:
    ranks = {}
    for name, (annotation, _) in PARAMETER_FIELDS.items():
        if isinstance(annotation, type) and issubclass(annotation, Enum):
            ranks[to_camel(name)] = {str(item.value): rank for rank, item in enumerate(annotation)}
    return ranks


_ENUM_RANKS = _enum_ranks()
