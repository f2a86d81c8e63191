"""Structural schemas: what the API server accepts of OpenAPI, made from the pydantic models.

Pydantic writes JSON Schema with references, unions with null and keys that a
CustomResourceDefinition may not have. Here every reference is replaced by what it refers to, a
union with null by its other branch, and only keys that Kubernetes knows are kept. The same schema
tells a user what a field allows, so that the API server and `gpubench validate` agree.
"""

from __future__ import annotations

from functools import cache
from inspect import cleandoc
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]

# In the order in which they are written. additionalProperties false is not among them: Kubernetes
# prunes unknown fields and does not want that key beside properties.
PLAIN_KEYS = (
    "type",
    "format",
    "enum",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
)


@cache
def structural_schema(model: type[BaseModel]) -> Schema:
    """Return a model's structural schema. It is shared: copy it before changing it."""
    document = model.model_json_schema(by_alias=True, mode="validation")
    return _structural(document, document.get("$defs", {}))


def _structural(node: Schema, definitions: dict[str, Schema]) -> Schema:
    source = _bounded(_resolved(node, definitions))
    schema: Schema = {}
    if "description" in source:
        schema["description"] = _unwrapped(source["description"])
    schema |= {key: source[key] for key in PLAIN_KEYS if key in source}
    default = without_empty(source.get("default"))
    if default is not None:
        schema["default"] = default
    schema |= {key: value for key, value in source.items() if key.startswith("x-kubernetes-")}
    if "items" in source:
        schema["items"] = _structural(source["items"], definitions)
    if isinstance(source.get("additionalProperties"), dict):
        schema["additionalProperties"] = _structural(source["additionalProperties"], definitions)
    if "required" in source:
        schema["required"] = source["required"]
    if "properties" in source:
        schema["properties"] = {
            name: _structural(field, definitions) for name, field in source["properties"].items()
        }
    return schema


def _resolved(node: Schema, definitions: dict[str, Schema]) -> Schema:
    """Follow references and unions with null; what stands beside them wins."""
    resolved = dict(node)
    while "$ref" in resolved or "anyOf" in resolved:
        if "$ref" in resolved:
            target = definitions[resolved.pop("$ref").rsplit("/", 1)[-1]]
        else:
            branches = [b for b in resolved.pop("anyOf") if b.get("type") != "null"]
            assert len(branches) == 1, f"a structural schema has no unions: {node}"
            target = branches[0]
        resolved = target | resolved
    if "const" in resolved:
        resolved["enum"] = [resolved.pop("const")]
    return resolved


def _bounded(node: Schema) -> Schema:
    """Write exclusive bounds as Kubernetes does: a bound and a flag."""
    bounded = dict(node)
    for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if exclusive in bounded:
            bounded[inclusive] = bounded[exclusive]
            bounded[exclusive] = True
    return bounded


def _unwrapped(docstring: str) -> str:
    """Return a docstring with each paragraph on one line: who shows it wraps it."""
    paragraphs = cleandoc(docstring).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def without_empty(value: Any) -> Any:
    """Return a default without nulls and empty lists and maps, None if nothing is left of it.

    Left out and empty mean the same in these resources, and stored objects stay readable.
    """
    if isinstance(value, dict):
        kept = {key: without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None} or None
    if isinstance(value, list):
        return [without_empty(item) for item in value] or None
    return value
