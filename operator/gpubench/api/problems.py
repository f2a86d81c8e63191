"""Pydantic's errors -> problems that name the field, the value and what is allowed."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from gpubench.api.allowed import (
    NOUNS,
    Location,
    describe_allowed,
    describe_range,
    field_path,
    schema_at,
    shown,
    unknown_field,
)
from gpubench.api.errors import Problem
from gpubench.api.schema import Schema

# Validators of a whole model begin their message with the field that is at fault.
_FIELD_PREFIX = re.compile(r"(?P<field>[a-z]\w*(\.[a-z]\w*)*): (?P<message>.+)", re.DOTALL)

_YAML_BOOLEAN_HINT = " (YAML reads Off, No, On and Yes as false or true: put such words in quotes)"

_LENGTHS = {
    "string_too_short": ("is {} characters long", "minLength", "maxLength"),
    "string_too_long": ("is {} characters long", "minLength", "maxLength"),
    "array": ("holds {} values", "minItems", "maxItems"),
    "object": ("holds {} entries", "minProperties", "maxProperties"),
}


def describe_validation_error(error: ValidationError, schema: Schema) -> list[Problem]:
    """Return one problem per error; `schema` is that of the model that was validated."""
    return [_describe(details, schema) for details in error.errors(include_url=False)]


def _describe(details: ErrorDetails, root: Schema) -> Problem:
    location: Location = details["loc"]
    if location and location[-1] == "[key]":
        return Problem(field_path(location[:-1]), f"the key is not allowed: {details['msg']}")
    schema = schema_at(root, location) or {}
    message = _message(details, root, schema)
    if details["type"] == "value_error" and isinstance(details["input"], dict):
        location, message = _move_to_field(location, message, schema)
    return Problem(field_path(location), message)


def _message(details: ErrorDetails, root: Schema, schema: Schema) -> str:
    value = details["input"]
    match details["type"]:
        case "missing":
            return _with_allowed("required but missing", schema)
        case "extra_forbidden":
            *parent, name = details["loc"]
            return unknown_field(str(name), (schema_at(root, parent) or {}).get("properties", {}))
        case "value_error":
            return _complaint(value, str(details["ctx"]["error"]))
        case "too_short" | "too_long" | "string_too_short" | "string_too_long" as kind:
            return _length_message(kind, value, schema)
        case kind:
            return _value_message(kind, value, schema) or _complaint(value, details["msg"])


def _complaint(value: Any, message: str) -> str:
    if isinstance(value, dict | list):
        return message
    return f"{shown(value)} is not allowed: {message}"


def _length_message(kind: str, value: Any, schema: Schema) -> str:
    words, lowest, highest = _LENGTHS.get(kind) or _LENGTHS[schema["type"]]
    found = words.format(len(value))
    subject = f"{shown(value)} {found}" if isinstance(value, str) else found
    return f"{subject}; allowed: {describe_range(schema, lowest, highest)}"


def _value_message(kind: str, value: Any, schema: Schema) -> str | None:
    """Say why a value does not fit a schema; None if the schema has no fault to find with it."""
    expected = schema.get("type")
    if "enum" in schema:
        hint = _YAML_BOOLEAN_HINT if isinstance(value, bool) else ""
        return _with_allowed(f"{shown(value)} is not allowed", schema) + hint
    if expected in NOUNS and kind.endswith(
        ("_type", "_from_float", "_parsing", "_attributes_type")
    ):
        return _with_allowed(
            f"{shown(value)} is not {NOUNS[expected]}{_quotes_hint(value, expected)}", schema
        )
    if describe_allowed(schema):
        return _with_allowed(f"{shown(value)} is not allowed", schema)
    return None


def _quotes_hint(value: Any, expected: str) -> str:
    if expected == "string" and isinstance(value, bool | int | float):
        return ": put it in quotes"
    if expected in ("integer", "boolean", "number") and isinstance(value, str):
        return " (quotes make it text)"
    if expected == "array" and isinstance(value, str | int | float):
        return f": write [{value}]"
    return ""


def _with_allowed(message: str, schema: Schema) -> str:
    allowed = describe_allowed(schema)
    return f"{message}; allowed: {allowed}" if allowed else message


def _move_to_field(location: Location, message: str, schema: Schema) -> tuple[Location, str]:
    match = _FIELD_PREFIX.fullmatch(message)
    if match is None:
        return location, message
    field = tuple(match["field"].split("."))
    if schema_at(schema, field) is None:
        return location, message
    return (*location, *field), match["message"]
