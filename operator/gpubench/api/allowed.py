"""What a field of a spec allows, in words, read from its structural schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from re import fullmatch
from typing import Any

from gpubench.api.base import DECIMAL_PATTERN, DNS_NAME_PATTERN
from gpubench.api.schema import Schema

Location = tuple[str | int, ...]

MAX_SHOWN = 60
"""Characters of a value that a message shows."""

NOUNS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
}
_PATTERN_WORDS = {
    DNS_NAME_PATTERN: "lower-case letters, digits, '-' and '.', a letter or digit at both ends",
    DECIMAL_PATTERN: 'a decimal number in quotes, such as "0.001" or "3e-4"',
}


def field_path(location: Sequence[str | int]) -> str:
    """Return a field's path as a user reads it: `spec.sweep.matrix.precision[0]`."""
    path = ""
    for step in location:
        if isinstance(step, str) and fullmatch(r"[A-Za-z_][-\w]*", step):
            path += f".{step}" if path else step
        else:
            path += f"[{json.dumps(step, ensure_ascii=False)}]"
    return path


def schema_at(schema: Schema, location: Sequence[str | int]) -> Schema | None:
    """Return the schema of the field at a location, None if there is no such field."""
    node: Schema | None = schema
    for step in location:
        if node is None:
            return None
        if isinstance(step, int):
            node = node.get("items")
        else:
            node = node.get("properties", {}).get(step) or node.get("additionalProperties")
    return node


def describe_allowed(schema: Schema) -> str:
    """Return what a field allows: `FP64, FP32`, `1 to 8`; empty if its type says it all."""
    if "enum" in schema:
        return ", ".join(schema["enum"])
    match schema.get("type"):
        case "integer" | "number":
            return describe_range(schema, "minimum", "maximum")
        case "boolean":
            return "true, false"
        case "string" if "pattern" in schema:
            pattern = schema["pattern"]
            return _PATTERN_WORDS.get(pattern, f"text that matches {pattern}")
    return ""


def describe_range(schema: Schema, lowest: str, highest: str) -> str:
    """Return the bounds that a schema has under these two keys: `1 to 8`, `at least 0`."""
    match schema.get(lowest), schema.get(highest):
        case None, None:
            return ""
        case low, None:
            return f"at least {low}"
        case None, high:
            return f"at most {high}"
        case low, high:
            return f"{low} to {high}"
    raise AssertionError


def unknown_field(name: str, known: Iterable[str]) -> str:
    """Return the complaint about a field that does not exist, with the closest one that does."""
    names = list(known)
    by_lower = {known_name.lower(): known_name for known_name in names}
    close = get_close_matches(name.lower().replace("_", ""), list(by_lower), n=1)
    hint = f"; did you mean {by_lower[close[0]]}?" if close else ";"
    return f"unknown field{hint} allowed: {', '.join(names)}"


def shown(value: Any) -> str:
    """Return a value as a message shows it: JSON, shortened, lists and mappings by their noun."""
    if isinstance(value, dict):
        return NOUNS["object"]
    if isinstance(value, list):
        return NOUNS["array"]
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
