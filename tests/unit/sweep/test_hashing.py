from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from gpubench.api.base import DECIMAL_PATTERN
from gpubench.api.benchmark import GPUBenchmark, Workload
from gpubench.api.parsing import parse_benchmark
from gpubench.api.schema import structural_schema
from gpubench.sweep.expansion import expand
from gpubench.sweep.hashing import DECIMAL_FIELDS, canonical_decimal, text_hash
from tests.unit.api.structural import walk
from tests.unit.sweep.sweeps import IMAGE, LLM, benchmark

IMAGE_BASE: dict[str, Any] = {"imageRecognition": {"precision": "BF16", "dataset": {"path": "a"}}}
# Mode Whole minds no window, so each field can be changed on its own.
NSYS_BASE: dict[str, Any] = {"mode": "Whole", "durationSeconds": 5, "delaySeconds": 1}

# What runs are like does not depend on these.
NOT_HASHED: dict[str, list[Any]] = {
    "metadata": [{"name": "other"}, {"name": "demo", "labels": {"a": "b"}}],
    "sweep": [{"repetitions": 2}, {"order": "Shuffled", "orderSeed": 3}],
    "results": [{"volumeClaim": "r"}, {"acceptance": [{"metric": "accuracy", "atLeast": "1"}]}],
    "suspend": [True],
    "execution": [
        {"backend": "Job"},
        {"dataVolumeClaim": "datasets"},
        {"imagePullPolicy": "Always"},
        {"imagePullSecrets": ["s"]},
        {"placement": {"nodeSelector": {"a": "b"}}},
        {"resources": {"cpu": "1"}},
        {"priorityClassName": "p"},
        {"queueName": "q"},
        {"parallelism": 2},
        {"timeoutSeconds": 5},
        {"noProgressSeconds": 5},
        {"retryLimit": 0},
        {"retryBackoffSeconds": 0},
        {"failureBudget": 1},
        {"cleanup": "Never"},
    ],
}


def point_hash(a_benchmark: GPUBenchmark) -> str:
    (point, *_) = expand(a_benchmark).points
    return point.point_hash


def with_spec(spec: dict[str, Any], name: str = "demo", workload: Any = IMAGE) -> GPUBenchmark:
    return benchmark(workload, name=name, spec=spec)


def other_values(schema: dict[str, Any], present: Any) -> Iterator[Any]:
    """Yield values of a field that differ from the present one, as far as its schema tells."""
    match schema:
        case {"enum": words}:
            yield from (word for word in words if word != present)
        case {"type": "integer"}:
            yield (present or schema.get("minimum", 0)) + 1
        case {"type": "boolean"}:
            yield not present
        case {"type": "array", "items": items}:
            yield [next(other_values(items, None))]
        case {"type": "string", "pattern": pattern} if pattern == DECIMAL_PATTERN:
            yield "0.77"
        case {"type": "string"}:
            yield "other"


def variants(model: type[BaseModel], base: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a copy of plain values for each field of a model, that one field changed."""
    schema = structural_schema(model)
    full = model.model_validate(base).model_dump(mode="json", exclude_none=True)
    for path, node in walk(schema):
        steps = path.removeprefix(".").split(".")
        if path.endswith("]") or node["type"] == "object":
            continue
        present: Any = full
        for step in steps:
            present = present.get(step) if isinstance(present, dict) else None
        for value in other_values(node, present):
            changed: Any = json.loads(json.dumps(full))
            target = changed
            for step in steps[:-1]:
                target = target.setdefault(step, {})
            target[steps[-1]] = value
            try:
                model.model_validate(changed)
            except ValidationError:
                continue
            yield path, changed
            break
        else:
            pytest.fail(f"no other value of {path} is valid: extend the base")


@pytest.mark.parametrize("base", [IMAGE_BASE, LLM], ids=["imageRecognition", "llmTuning"])
def test_every_field_of_a_workload_changes_the_hash(base: dict[str, Any]) -> None:
    kind = next(iter(base))
    model = type(benchmark(base).spec.workload.parameters)
    before = point_hash(benchmark(base))
    seen = {before}
    for path, changed in variants(model, base[kind]):
        after = point_hash(benchmark({kind: changed}))
        assert after not in seen, path
        seen.add(after)
    assert len(seen) > 20


def test_every_field_of_profiling_changes_the_hash() -> None:
    model = type(benchmark().spec.profiling.nsys)
    seen = {point_hash(with_spec({"profiling": {"nsys": NSYS_BASE}}))}
    for path, changed in variants(model, NSYS_BASE):
        after = point_hash(with_spec({"profiling": {"nsys": changed}}))
        assert after not in seen, path
        seen.add(after)
    assert len(seen) == 1 + len(model.model_fields)


@pytest.mark.parametrize(
    "spec",
    [
        {"gpus": 2},
        {"execution": {"image": "i"}},
        {"execution": {"isolation": "Shared"}},
        {"execution": {"device": "CPU"}},
    ],
    ids=str,
)
def test_what_disturbs_or_executes_a_run_changes_the_hash(spec: dict[str, Any]) -> None:
    assert point_hash(with_spec(spec)) != point_hash(benchmark())


@pytest.mark.parametrize(
    "change",
    [{field: value} for field, values in NOT_HASHED.items() for value in values],
    ids=str,
)
def test_what_does_not_change_a_run_does_not_change_its_hash(change: dict[str, Any]) -> None:
    spec = {name: value for name, value in change.items() if name != "metadata"}
    metadata = change.get("metadata", {"name": "demo"})
    changed = {"metadata": metadata, "spec": {"workload": IMAGE, **spec}}
    assert point_hash(GPUBenchmark.model_validate(changed)) == point_hash(benchmark())


def test_every_field_of_the_spec_is_known_to_be_hashed_or_not() -> None:
    """A new field must be decided on: here, in the hash or out of it."""
    spec = benchmark().spec
    hashed = {"workload", "gpus", "profiling"}
    not_hashed = {field for field in NOT_HASHED if field not in ("metadata", "execution")}
    names = {field.alias for field in type(spec).model_fields.values()}
    assert names == hashed | not_hashed | {"execution"}
    execution = {field.alias for field in type(spec.execution).model_fields.values()}
    decided = {name for entry in NOT_HASHED["execution"] for name in entry}
    assert execution == decided | {"image", "isolation", "device"}


def test_defaults_that_are_written_out_hash_the_same() -> None:
    full = benchmark().to_manifest()
    assert point_hash(GPUBenchmark.model_validate(full)) == point_hash(benchmark())


@given(st.randoms(use_true_random=False), st.sampled_from(["a", "other-name", "1.2", "x" * 253]))
def test_the_order_of_keys_and_the_name_do_not_matter(random: Any, name: str) -> None:
    def shuffled(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        items = [(key, shuffled(item)) for key, item in value.items()]
        random.shuffle(items)
        return dict(items)

    manifest = benchmark(IMAGE_BASE, name=name).to_manifest()
    again = parse_benchmark(json.dumps(shuffled(manifest)), "b.json")
    assert point_hash(again) == point_hash(benchmark(IMAGE_BASE))


def test_equal_numbers_hash_the_same() -> None:
    hashes = {
        point_hash(benchmark({"imageRecognition": {"learningRate": rate}}))
        for rate in ("3e-4", "0.0003", "0.00030", "3.0E-4", "30e-5")
    }
    assert len(hashes) == 1


@given(
    st.from_regex(DECIMAL_PATTERN, fullmatch=True).filter(lambda text: len(text) <= 32),
    st.from_regex(DECIMAL_PATTERN, fullmatch=True).filter(lambda text: len(text) <= 32),
)
def test_canonical_numbers_are_equal_exactly_if_the_numbers_are(one: str, other: str) -> None:
    assert (canonical_decimal(one) == canonical_decimal(other)) == (Decimal(one) == Decimal(other))
    assert Decimal(canonical_decimal(one)) == Decimal(one)


def test_long_numbers_are_not_rounded() -> None:
    assert canonical_decimal("0." + "1" * 30) != canonical_decimal("0." + "1" * 29 + "2")


def test_the_known_decimal_fields_are_all_there_are() -> None:
    found = {
        path.rsplit(".", 1)[-1]
        for path, node in walk(structural_schema(Workload))
        if node.get("pattern") == DECIMAL_PATTERN
    }
    assert found == DECIMAL_FIELDS


def test_a_hash_is_ten_characters_of_base32() -> None:
    assert re.fullmatch(r"[a-z2-7]{10}", point_hash(benchmark()))


def test_hashes_stay_what_they_are() -> None:
    """Another hash for the same work runs every finished sweep again: say so in the changelog."""
    assert text_hash("gpubench", 10) == "py2rt4xwg3"
    assert point_hash(benchmark()) == "me6pe37pb7"
    assert point_hash(benchmark(LLM)) == "ff5iat4ua5"
