"""Text -> GPUBenchmark, accepting what a strict `kubectl apply` accepts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from gpubench.api.allowed import shown
from gpubench.api.base import API_GROUP_VERSION
from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.errors import Problem, SpecError
from gpubench.api.overrides import apply_overrides
from gpubench.api.problems import describe_validation_error
from gpubench.api.schema import Schema, structural_schema
from gpubench.api.yaml_reading import read_documents


def parse_benchmark(text: str | bytes, source: str, overrides: Sequence[str] = ()) -> GPUBenchmark:
    """Read a benchmark from YAML or JSON text.

    `source` is the file's name for messages; `overrides` are `path=value` as `--set` takes them.
    A status in the file is ignored, as the API server does.

    Raises:
        SpecError: it is not one valid GPUBenchmark; one line per problem, each with the source.
    """
    try:
        content = _only_document(read_documents(_decoded(text)))
        return _validated(content, overrides)
    except SpecError as error:
        raise error.at(source) from None


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        place = f"byte 0x{text[error.start]:02x} at offset {error.start}"
        raise SpecError.of("", f"not UTF-8 text ({place})") from None


def _only_document(documents: list[Any]) -> dict[str, Any]:
    if not documents:
        raise SpecError.of("", "empty; a benchmark begins with apiVersion and kind")
    if len(documents) > 1:
        raise SpecError.of("", f"{len(documents)} YAML documents; a benchmark's file holds one")
    document = documents[0]
    if not isinstance(document, dict):
        raise SpecError.of("", f"holds {shown(document)}, not a GPUBenchmark")
    return document


def _validated(content: dict[str, Any], overrides: Sequence[str]) -> GPUBenchmark:
    schema = structural_schema(GPUBenchmark)
    if problems := list(_header_problems(content)):
        raise SpecError(problems)
    content = {key: value for key, value in content.items() if key != "status"}
    content["metadata"] = content.get("metadata") or {}
    if isinstance(content.get("spec"), dict):
        content = apply_overrides(content, overrides, schema)
    try:
        # JSON has the API server's types, so strictness is the same: "1" is no number; by alias
        # only, so that image_size is unknown here as it is there.
        return GPUBenchmark.model_validate_json(
            json.dumps(_without_nulls(content, schema)),
            strict=True,
            by_alias=True,
            by_name=False,
        )
    except ValidationError as error:
        raise SpecError(describe_validation_error(error, schema)) from None


def _header_problems(content: dict[str, Any]) -> Iterator[Problem]:
    for field, expected in (("apiVersion", API_GROUP_VERSION), ("kind", GPUBenchmark.__name__)):
        if content.get(field) is None:
            yield Problem(field, f"required but missing; allowed: {expected}")
        elif content[field] != expected:
            yield Problem(field, f"{shown(content[field])} is not allowed; allowed: {expected}")


def _without_nulls(value: Any, schema: Schema) -> Any:
    """Leave out fields without a value, as `kubectl apply` does: they get their default.

    Nulls of unknown fields stay, so that the complaint is about the field.
    """
    if isinstance(value, list):
        return [_without_nulls(item, schema.get("items", {})) for item in value]
    if not isinstance(value, dict):
        return value
    fields = schema.get("properties", {})
    return {
        name: _without_nulls(item, fields.get(name, {}))
        for name, item in value.items()
        if item is not None or name not in fields
    }
