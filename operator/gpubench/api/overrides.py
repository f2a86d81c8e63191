"""`--set path=value`: change single fields of a benchmark before it is validated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NoReturn

from gpubench.api.allowed import Location, field_path, schema_at, shown, unknown_field
from gpubench.api.errors import SpecError
from gpubench.api.schema import Schema
from gpubench.api.yaml_reading import read_documents

SOURCE = "--set"

_STEP = re.compile(r'(?:^|\.)(?P<name>[A-Za-z_][-\w]*)|\[(?P<index>\d{1,6})\]|\["(?P<key>[^"]*)"\]')


@dataclass(frozen=True, slots=True)
class Override:
    """One `path=value`."""

    location: Location
    """From the root of the object: `("spec", "gpus")`."""
    value: Any
    """Plain JSON; None takes the field out."""


def parse_override(text: str) -> Override:
    """Read `path=value`; the path may leave out a leading `spec.`, the value is YAML.

    Raises:
        SpecError: it is not of this form.
    """
    path, separator, value = text.partition("=")
    if not separator:
        _refuse("", f"{shown(text)} is not of the form path=value, such as gpus=2")
    location = tuple(_steps(path.strip()))
    if location[0] not in ("spec", "metadata"):
        location = ("spec", *location)
    try:
        documents = read_documents(value)
    except SpecError as error:
        _refuse(field_path(location), error.problems[0].message)
    if len(documents) > 1:
        _refuse(field_path(location), "the value is more than one YAML document")
    return Override(location, documents[0] if documents else None)


def apply_overrides(content: Any, overrides: Sequence[str], schema: Schema) -> Any:
    """Return the content with every override applied, the last one of a field winning.

    Raises:
        SpecError: a path leads to no field, or the sweep would ignore what it sets.
    """
    changed = deepcopy(content)
    parsed = [parse_override(text) for text in overrides]
    for override in parsed:
        _check_path(override.location, schema)
        _set(changed, override)
    for override in parsed:
        _check_not_swept(changed, override.location)
    return changed


def _steps(path: str) -> Iterator[str | int]:
    position = 0
    while match := _STEP.match(path, position):
        position = match.end()
        yield int(match["index"]) if match["index"] else match["name"] or match["key"] or ""
    if position < len(path) or not path:
        _refuse("", f"{shown(path)} is not a path such as sweep.matrix.precision[0]")


def _check_path(location: Location, schema: Schema) -> None:
    for depth in range(1, len(location) + 1):
        if schema_at(schema, location[:depth]) is not None:
            continue
        parent = schema_at(schema, location[: depth - 1]) or {}
        path = field_path(location[:depth])
        if parent.get("type") == "array":
            _refuse(path, "a list takes a number in brackets, such as [0]")
        if "properties" not in parent:
            _refuse(path, "there is no field below this one")
        _refuse(path, unknown_field(str(location[depth - 1]), parent["properties"]))


def _set(content: Any, override: Override) -> None:
    *parents, last = override.location
    for depth, step in enumerate(parents):
        fresh: Any = [] if isinstance(override.location[depth + 1], int) else {}
        location = override.location[: depth + 1]
        if _get(content, step, location) is None:
            _put(content, step, fresh, location)
        content = _get(content, step, location)
    _put(content, last, override.value, override.location)


def _get(container: Any, step: str | int, location: Location) -> Any:
    if isinstance(step, int) and isinstance(container, list):
        return container[step] if step < len(container) else None
    if isinstance(step, str) and isinstance(container, dict):
        return container.get(step)
    return _refuse(field_path(location[:-1]), f"{shown(container)} has no field {shown(step)}")


def _put(container: Any, step: str | int, value: Any, location: Location) -> None:
    if isinstance(step, int) and isinstance(container, list):
        if step > len(container):
            _refuse(field_path(location), f"the list holds {len(container)} values")
        container[step : step + 1] = [] if value is None else [value]
    elif isinstance(step, str) and isinstance(container, dict):
        container.pop(step, None)
        if value is not None:
            container[step] = value
    else:
        _refuse(field_path(location[:-1]), f"{shown(container)} has no field {shown(step)}")


def _check_not_swept(content: Any, location: Location) -> None:
    """Refuse to set a parameter that the matrix sets for every point: it would change nothing."""
    match location:
        case ("spec", "gpus"):
            axis = "gpus"
        case ("spec", "workload", str(), "dataset", "name"):
            axis = "dataset"
        case ("spec", "workload", str(), str(parameter)) if parameter != "dataset":
            axis = parameter
        case _:
            return
    sweep = content["spec"].get("sweep")
    matrix = sweep.get("matrix") if isinstance(sweep, dict) else None
    if isinstance(matrix, dict) and matrix.get(axis) is not None:
        _refuse(
            field_path(location),
            f"the sweep sets {axis} for every point; set sweep.matrix.{axis} instead",
        )


def _refuse(path: str, message: str) -> NoReturn:
    raise SpecError.of(path, message, SOURCE)
