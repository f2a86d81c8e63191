from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from gpubench.api.base import ApiModel
from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.run import GPUBenchmarkRun
from gpubench.api.schema import structural_schema, without_empty
from tests.unit.api.structural import violations, walk

MODELS = pytest.mark.parametrize("model", [GPUBenchmark, GPUBenchmarkRun])


@MODELS
def test_a_resource_has_a_structural_schema(model: type[BaseModel]) -> None:
    schema = structural_schema(model)
    # Both resources read metadata as a model that knows more than it names.
    assert violations(schema) == []
    assert sum(1 for _ in walk(schema)) > 100


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"anyOf": []}, ".: keys ['anyOf']"),
        ({"$ref": "x"}, ".: keys ['$ref']"),
        ({"type": None}, ".: type None"),
        ({"additionalProperties": {"type": "string"}}, ".: properties beside additionalProperties"),
        ({"required": ["nothing"]}, ".: requires ['nothing'], which it does not have"),
        ({"default": 3}, ".: default 3 is no object"),
    ],
)
def test_the_checker_sees_what_is_not_structural(change: dict[str, Any], complaint: str) -> None:
    assert complaint in violations(deepcopy(structural_schema(GPUBenchmark)) | change)


@MODELS
def test_every_field_is_described(model: type[BaseModel]) -> None:
    nameless = [
        path
        for path, node in walk(structural_schema(model))
        if not path.endswith("]") and not node.get("description", "").strip()
    ]
    assert nameless == []


@MODELS
def test_no_description_is_broken_over_lines(model: type[BaseModel]) -> None:
    for path, node in walk(structural_schema(model)):
        assert "\n" not in node.get("description", "").replace("\n\n", ""), path


def fields_with_models(
    model: type[BaseModel], schema: dict[str, Any], path: str
) -> list[tuple[str, type[BaseModel], dict[str, Any]]]:
    """Return the models of a schema, each with its own part of the schema."""
    found = [(path, model, schema)]
    for field in model.model_fields.values():
        part = schema["properties"][field.alias]
        inner = part.get("items", part.get("additionalProperties", part))
        for candidate in models_in(field.annotation):
            found += fields_with_models(candidate, inner, f"{path}.{field.alias}")
    return found


def models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in models_in(part)]


@MODELS
def test_a_default_of_the_schema_is_the_default_of_the_model(model: type[BaseModel]) -> None:
    checked = 0
    for path, part_model, schema in fields_with_models(model, structural_schema(model), ""):
        for name, field in part_model.model_fields.items():
            expected = None
            if not field.is_required():
                value = field.get_default(call_default_factory=True)
                plain = value.to_json_dict() if isinstance(value, ApiModel) else value
                expected = without_empty(plain)
            found = schema["properties"][field.alias].get("default")
            assert found == expected, f"{path}.{name}"
            checked += 1
    assert checked > 60


@MODELS
def test_a_default_on_its_own_is_valid(model: type[BaseModel]) -> None:
    """The API server fills nested defaults in; each must satisfy the model that it fills."""
    for _, part_model, schema in fields_with_models(model, structural_schema(model), ""):
        for field in part_model.model_fields.values():
            default = schema["properties"][field.alias].get("default")
            if isinstance(default, dict):
                (inner,) = models_in(field.annotation)
                assert inner.model_validate(default) == field.get_default()


def test_bounds_lengths_and_patterns_are_kept() -> None:
    spec = structural_schema(GPUBenchmark)["properties"]["spec"]["properties"]
    assert spec["gpus"] | {"description": ""} == {
        "description": "",
        "type": "integer",
        "minimum": 1,
        "maximum": 8,
        "default": 1,
    }
    rate = spec["workload"]["properties"]["imageRecognition"]["properties"]["learningRate"]
    assert rate["pattern"].startswith("^[0-9]")
    assert rate["maxLength"] == 32
    precision = spec["sweep"]["properties"]["matrix"]["properties"]["precision"]
    assert precision["items"]["enum"] == ["FP64", "FP32", "TF32", "BF16", "FP16"]
    assert (precision["minItems"], precision["maxItems"]) == (1, 64)
    assert precision["x-kubernetes-list-type"] == "set"


def test_exclusive_bounds_become_a_bound_and_a_flag() -> None:
    class Model(ApiModel):
        """A model."""

        share: Annotated[float, Field(gt=0, lt=1)]
        """A share."""

    share = structural_schema(Model)["properties"]["share"]
    assert share == {
        "description": "A share.",
        "type": "number",
        "minimum": 0,
        "exclusiveMinimum": True,
        "maximum": 1,
        "exclusiveMaximum": True,
    }


def test_unions_are_refused() -> None:
    class Model(ApiModel):
        """A model."""

        either: int | str
        """One or the other."""

    with pytest.raises(AssertionError, match="no unions"):
        structural_schema(Model)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ([], None),
        ({}, None),
        (0, 0),
        (False, False),
        ("", ""),
        ({"a": None, "b": {"c": []}}, None),
        ({"a": None, "b": {"c": 1}}, {"b": {"c": 1}}),
        ([{"a": None}, 1], [None, 1]),
    ],
)
def test_empty_defaults_are_left_out(value: Any, expected: Any) -> None:
    assert without_empty(value) == expected


@MODELS
def test_bounds_fit_into_the_api_servers_64_bits(model: type[BaseModel]) -> None:
    """It compares a whole number with a larger bound than that as if the bound were negative."""
    text = json.dumps(structural_schema(model))
    bounds = re.findall(r'"(?:minimum|maximum)": ([-+.e0-9]+)', text)
    assert bounds
    assert all(abs(float(bound)) < 2**63 for bound in bounds)
