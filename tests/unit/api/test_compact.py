"""The compact result fits a termination message, whatever was measured."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.api.compact import (
    MAX_MESSAGE_BYTES,
    CompactFailure,
    CompactResult,
    cut_text,
)
from gpubench.api.enums import FailureClass, Family

Schema = dict[str, Any]
LONGEST_FLOATS = [
    sign * float(f"1.23457e{exponent}") for exponent in range(-12, 22) for sign in (1, -1)
]
"""Floats of six significant digits whose texts are the longest of their magnitude."""


def longest_text(values: Iterable[Any]) -> Any:
    """Return the value whose JSON takes the most bytes."""
    return max(values, key=lambda value: len(json.dumps(value)))


def longest_number(schema: Schema) -> Any:
    bounds = (schema["minimum"], schema["maximum"])
    if schema["type"] == "integer":
        return longest_text(bounds)
    return longest_text(value for value in LONGEST_FLOATS if bounds[0] <= value <= bounds[1])


def longest_string(schema: Schema) -> str:
    filler = "f" if "pattern" in schema else "x"
    return filler * int(schema["maxLength"])


def longest_array(schema: Schema) -> list[Any]:
    if "enum" in (items := resolve(schema["items"])):
        return list(items["enum"])
    return [longest(items)] * int(schema["maxItems"])


def longest_object(schema: Schema) -> dict[str, Any]:
    if "properties" in schema:
        return {name: longest(field) for name, field in schema["properties"].items()}
    names = resolve(schema["propertyNames"])["enum"]
    return {name: longest(schema["additionalProperties"]) for name in names}


LONGEST = {
    "string": longest_string,
    "integer": longest_number,
    "number": longest_number,
    "array": longest_array,
    "object": longest_object,
}
RESULT_SCHEMA = CompactResult.model_json_schema()


def resolve(schema: Schema) -> Schema:
    """Return what a schema stands for: the target of a reference, the branch that is not null."""
    if "$ref" in schema:
        return dict(RESULT_SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return resolve(next(branch for branch in schema["anyOf"] if branch.get("type") != "null"))
    return schema


def longest(schema: Schema) -> Any:
    """Return the value that takes the most bytes among those that a JSON schema allows."""
    schema = resolve(schema)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return longest_text(schema["enum"])
    return LONGEST[schema["type"]](schema)


def longest_result(*, without: str) -> CompactResult:
    """Return the longest result that has no failure or no profile; none has both.

    What was wrong with a profile is told where there is none.
    """
    document = longest(RESULT_SCHEMA)
    del document[without]
    if without == "failure":
        del document["profileProblem"]
    return CompactResult.model_validate(document)


@pytest.mark.parametrize("absent", ["failure", "profile"])
def test_longest_possible_result_fits(absent: str) -> None:
    result = longest_result(without=absent)
    assert len(result.to_message().encode()) <= MAX_MESSAGE_BYTES


def test_longest_result_has_every_family_on_eight_ranks() -> None:
    result = longest_result(without="failure")
    assert result.profile is not None
    assert set(result.profile.families) == set(Family)
    assert len(result.peak_memory_bytes) == 8
    assert len(result.to_message()) > 3500


def without_uuids(result: CompactResult) -> CompactResult:
    assert result.device is not None
    device = result.device.model_copy(update={"uuids": None})
    return result.model_copy(update={"device": device})


def test_message_reads_back_as_written() -> None:
    result = without_uuids(longest_result(without="failure"))
    assert CompactResult.from_message(result.to_message()) == result


def test_uuids_are_told_where_there_is_room() -> None:
    longest = longest_result(without="failure")
    assert CompactResult.from_message(longest.to_message()) == without_uuids(longest)
    assert longest.profile is not None
    first = dict(list(longest.profile.families.items())[:-2])
    profile = longest.profile.model_copy(update={"families": first})
    shorter = longest.model_copy(update={"profile": profile})
    assert CompactResult.from_message(shorter.to_message()) == shorter


@pytest.mark.parametrize("cut", [0, 1, 100, -1])
def test_cut_message_is_refused(cut: int) -> None:
    message = longest_result(without="failure").to_message()
    with pytest.raises(ValueError, match=r"JSON|json"):
        CompactResult.from_message(message[:cut])


def test_a_profile_and_its_problem_exclude_each_other() -> None:
    document = longest(RESULT_SCHEMA)
    del document["failure"]
    with pytest.raises(ValueError, match="does not fit beside it"):
        CompactResult.model_validate(document)


def test_failure_and_profile_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="carries no profile"):
        CompactResult.model_validate(longest(RESULT_SCHEMA))


@given(st.text(max_size=600), st.integers(8, 300))
def test_cut_text_keeps_to_its_bytes_in_json(text: str, max_bytes: int) -> None:
    failure = CompactFailure.model_construct(
        failure_class=FailureClass.CRASH, message=cut_text(text, max_bytes)
    )
    assert "\n" not in failure.message
    written = failure.model_dump_json(include={"message"})
    assert len(written.encode()) <= max_bytes + len('{"message":""}')


def test_cut_text_leaves_short_text_alone() -> None:
    assert cut_text("loss is nan at step 7", 240) == "loss is nan at step 7"
