"""The parameters that a sweep may vary, and the values that a benchmark gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic.alias_generators import to_camel

from gpubench.api.base import ApiModel
from gpubench.api.benchmark import GPUBenchmarkSpec
from gpubench.api.errors import Problem
from gpubench.api.sweep import PARAMETER_FIELDS
from gpubench.sweep.hashing import DECIMAL_FIELDS, canonical_decimal
from gpubench.sweep.plan import ParameterValue

Values = Mapping[str, Any]
"""Parameter values by their names in Python: `{"gpus": 2, "image_size": 32}`."""

SPEC_NAMES = {name: to_camel(name) for name in PARAMETER_FIELDS}
"""Names as a spec writes them."""


def given_values(model: ApiModel) -> dict[str, Any]:
    """Return what a matrix or a point's entry sets, in the order of the parameters."""
    return {name: value for name in PARAMETER_FIELDS if (value := getattr(model, name)) is not None}


def base_values(spec: GPUBenchmarkSpec) -> dict[str, Any]:
    """Return the value of every parameter of the benchmark's workload before any sweep."""
    chosen = spec.workload.parameters
    values = {name: value for name, value in chosen if name in PARAMETER_FIELDS}
    return values | {"gpus": spec.gpus, "dataset": chosen.dataset.name}


def comparable(name: str, value: Any) -> Any:
    """Return a value in the form in which equal ones are equal: `3e-4` as `0.0003`."""
    return canonical_decimal(value) if SPEC_NAMES[name] in DECIMAL_FIELDS else value


def displayed(values: Values) -> dict[str, ParameterValue]:
    """Return parameter values as a spec writes them."""
    return {
        SPEC_NAMES[name]: str(value) if isinstance(value, str) else value
        for name, value in values.items()
    }


def foreign_parameters(spec: GPUBenchmarkSpec) -> Iterator[Problem]:
    """Yield a problem for each parameter of the sweep that the workload does not have."""
    sweep = spec.sweep
    places = [
        ("matrix", sweep.matrix),
        *((f"include[{index}]", entry) for index, entry in enumerate(sweep.include)),
        *((f"exclude[{index}]", entry) for index, entry in enumerate(sweep.exclude)),
    ]
    known = base_values(spec)
    allowed = ", ".join(SPEC_NAMES[name] for name in PARAMETER_FIELDS if name in known)
    for place, entry in places:
        for name in given_values(entry):
            if name not in known:
                yield Problem(
                    f"spec.sweep.{place}.{SPEC_NAMES[name]}",
                    f"not a parameter of {spec.workload.kind}; allowed: {allowed}",
                )
