"""Whatever a file holds, reading it ends in a benchmark or in lines that say what is wrong."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.errors import SpecError
from gpubench.api.parsing import parse_benchmark
from gpubench.api.schema import structural_schema
from gpubench.api.yaml_writing import to_yaml
from tests.unit.api.manifests import HEADER, manifest

WORDS = st.sampled_from(
    ["FP32", "Off", "no", "~", "1e3", "3e-4", ".nan", "..", "a/b", "<<", "\x85", "\ud800", ""]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
YAML_TEXT = st.text(
    st.sampled_from(
        [*"-: \n\t[]{},&*!|>'\"%@`#?<~=.", *"aFP1", "\x00", "\ufeff", "\x85", "\ud800"]
    ),
    max_size=60,
)


def parse(text: str | bytes, *overrides: str) -> None:
    with contextlib.suppress(SpecError):
        benchmark = parse_benchmark(text, "b.yaml", overrides)
        assert isinstance(benchmark, GPUBenchmark)


def values_of(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that a schema allows by type, and now and then something else."""
    likely: st.SearchStrategy[Any]
    match schema.get("type"):
        case "object" if "properties" in schema:
            fields = {name: values_of(field) for name, field in schema["properties"].items()}
            likely = st.fixed_dictionaries({}, optional=fields)
        case "array":
            likely = st.lists(values_of(schema["items"]), max_size=3)
        case "integer":
            likely = st.integers(schema.get("minimum", -3), schema.get("maximum", 9) + 1)
        case "boolean":
            likely = st.booleans()
        case _:
            likely = st.sampled_from([*schema.get("enum", ["a", "0.5"]), "x"])
    return likely | st.sampled_from([None, {}, [], "", 0, 2.5])


SPECS = values_of(structural_schema(GPUBenchmark)["properties"]["spec"])


@given(st.text() | YAML_TEXT)
def test_any_text(text: str) -> None:
    parse(text)
    parse(HEADER + text)
    parse(manifest(text))


@given(st.binary())
def test_any_bytes(content: bytes) -> None:
    parse(content)
    parse(HEADER.encode() + content)


@given(VALUES)
def test_any_document(value: Any) -> None:
    parse(json.dumps(value))
    parse(HEADER + "spec: " + json.dumps(value))
    parse(manifest("sweep: " + json.dumps(value)))


@given(SPECS)
@example({"workload": {"imageRecognition": {"dataset": {"path": ".."}}}})
def test_any_spec_of_about_the_right_form(spec: Any) -> None:
    parse(HEADER + "spec: " + json.dumps(spec))
    parse(HEADER + to_yaml({"spec": spec}))


@given(st.text(max_size=20) | YAML_TEXT, st.text(max_size=20) | YAML_TEXT)
@example('execution.placement.nodeSelector["\ud800"]', "x")
@example("sweep.include[999999]", "{}")
@example("sweep.matrix.gpus[٣]", "1")
def test_any_override(path: str, value: str) -> None:
    parse(manifest(), f"{path}={value}")
    parse(manifest(), f"workload.imageRecognition.dataset={value}")


@given(SPECS)
def test_a_problem_is_one_line(spec: Any) -> None:
    try:
        parse_benchmark(HEADER + to_yaml({"spec": spec}), "b.yaml")
    except SpecError as error:
        for line in str(error).split("\n"):
            assert line.startswith("b.yaml: ")
