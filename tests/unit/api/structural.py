"""What Kubernetes asks of a structural schema, as a checker.

The rules are those of "Specifying a structural schema" in the Kubernetes documentation on
CustomResourceDefinitions, as far as they concern schemas without unions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ALLOWED_KEYS = {
    "additionalProperties",
    "default",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-validations",
}
TYPES = {"object", "array", "string", "integer", "number", "boolean"}


def walk(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every node with its path."""
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from walk(field, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from walk(schema[key], f"{path}[{key}]")


def violations(schema: dict[str, Any]) -> list[str]:
    """Return what keeps a schema from being structural."""
    return [
        f"{path or '.'}: {complaint}"
        for path, node in walk(schema)
        for complaint in _node_violations(node)
    ]


def _node_violations(node: dict[str, Any]) -> Iterator[str]:
    if unknown := set(node) - ALLOWED_KEYS:
        yield f"keys {sorted(unknown)}"
    kind = node.get("type")
    if kind not in TYPES:
        yield f"type {kind!r}"
    if "properties" in node and "additionalProperties" in node:
        yield "properties beside additionalProperties"
    if ("properties" in node or "additionalProperties" in node) and kind != "object":
        yield "fields of what is no object"
    if (kind == "array") != ("items" in node):
        yield "an array and nothing else has items"
    if missing := set(node.get("required", ())) - set(node.get("properties", {})):
        yield f"requires {sorted(missing)}, which it does not have"
    yield from _list_violations(node)
    if "default" in node and not isinstance(node["default"], PYTHON_TYPES[kind or "object"]):
        yield f"default {node['default']!r} is no {kind}"


PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def _list_violations(node: dict[str, Any]) -> Iterator[str]:
    items = node.get("items", {})
    match node.get("x-kubernetes-list-type"):
        case "set" if items.get("type") in ("object", "array"):
            yield "a set of what is no scalar"
        case "map":
            keys = node.get("x-kubernetes-list-map-keys", [])
            if not keys or not set(keys) <= set(items.get("required", ())):
                yield f"a map by keys {keys} that are not required"
