"""YAML text -> plain JSON values, as kubectl reads it.

PyYAML's scanner gives the events; what they mean is decided here, because PyYAML and kubectl (the
Go library yaml.v2) differ: `3e-4` is a number for kubectl and a string for PyYAML, `1:30` the other
way round, and both read `Off` as false. Building the values here also keeps hostile files cheap:
nesting, size and what aliases expand to are bounded, and a key that is there twice is an error.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import yaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gpubench.api.errors import SpecError

Json = Any

MAX_CHARACTERS = 1_500_000
"""About what etcd stores in one object (1.5 MiB)."""
MAX_DEPTH = 64
MAX_ALIASED_VALUES = 10_000
"""Values that aliases may add to a document; the largest sweep is written without any."""

_WORDS: dict[str, Json] = {
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    ),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)"
    r"|0[oO]?(?P<octal>[0-7]+)|(?P<decimal>0|[1-9][0-9]*))"
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_INTEGER_RANGE = range(-(2**63), 2**64)
"""Go's int64 and uint64; a decimal outside becomes a float."""

_TAG_PREFIX = "tag:yaml.org,2002:"
_KNOWN_TAGS = {None, "!", *(_TAG_PREFIX + name for name in ("str", "seq", "map"))}


def read_documents(text: str) -> list[Json]:
    """Return the documents of a YAML text, those without content left out.

    Raises:
        SpecError: it is not YAML, or nests, repeats or expands too much.
    """
    if len(text) > MAX_CHARACTERS:
        _refuse(
            f"{len(text):,} characters are too much for a benchmark; allowed: {MAX_CHARACTERS:,}"
        )
    try:
        events = yaml.parse(text, Loader=yaml.CSafeLoader)
        documents = [
            _Document(events).read_value(next(events), depth=0)
            for event in events
            if isinstance(event, DocumentStartEvent)
        ]
    except yaml.MarkedYAMLError as error:
        _refuse(f"not valid YAML: {_explained(text, error)}", error.problem_mark)
    except UnicodeEncodeError:
        _refuse("not UTF-8 text")
    except yaml.YAMLError as error:
        _refuse(f"not valid YAML: {str(error).splitlines()[0]}")
    return [document for document in documents if document is not None]


class _Mark(Protocol):
    """A place in a text, counted from 0; PyYAML has two classes of them."""

    line: int
    column: int


@dataclass(slots=True)
class _Document:
    """Builds the value of one document from its events."""

    events: Iterator[Event]
    anchors: dict[str, tuple[Json, int]] = field(default_factory=dict)
    """Value and size of each anchor that is complete."""
    values: int = 0
    aliased_values: int = 0

    def read_value(self, event: Event, depth: int) -> Json:
        _check_depth(depth, event)
        if isinstance(event, AliasEvent):
            return self._aliased(event, depth)
        assert isinstance(event, ScalarEvent | CollectionStartEvent)
        _check_tag(event)
        before = self.values
        self.values += 1
        if isinstance(event, ScalarEvent):
            value = _scalar(event)
        elif isinstance(event, SequenceStartEvent):
            value = self._read_list(depth)
        else:
            value = self._read_mapping(depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, self.values - before)
        return value

    def _aliased(self, event: AliasEvent, depth: int) -> Json:
        if event.anchor not in self.anchors:
            _refuse(f"alias *{event.anchor} has no anchor before it", event.start_mark)
        value, size = self.anchors[event.anchor]
        self.values += size
        self.aliased_values += size
        if self.aliased_values > MAX_ALIASED_VALUES:
            _refuse(f"aliases expand to more than {MAX_ALIASED_VALUES:,} values", event.start_mark)
        _check_depth(depth + _height(value), event)
        return deepcopy(value)

    def _read_list(self, depth: int) -> list[Json]:
        items = []
        while not isinstance(event := next(self.events), SequenceEndEvent):
            items.append(self.read_value(event, depth + 1))
        return items

    def _read_mapping(self, depth: int) -> dict[str, Json]:
        own: dict[str, Json] = {}
        merged: dict[str, Json] = {}
        while not isinstance(event := next(self.events), MappingEndEvent):
            if _is_merge_key(event):
                for entry in self._read_merged(next(self.events), depth):
                    merged = entry | merged
                continue
            key = self._read_key(event, depth)
            if key in own:
                _refuse(f"key {_quoted(key)} is there twice", event.start_mark)
            own[key] = self.read_value(next(self.events), depth + 1)
        return merged | own

    def _read_key(self, event: Event, depth: int) -> str:
        key = self.read_value(event, depth + 1)
        if key is None or isinstance(key, list | dict):
            _refuse("a key must be a word", event.start_mark)
        return key if isinstance(key, str) else json.dumps(key)

    def _read_merged(self, event: Event, depth: int) -> list[dict[str, Json]]:
        value = self.read_value(event, depth + 1)
        entries = value if isinstance(value, list) else [value]
        if not all(isinstance(entry, dict) for entry in entries):
            _refuse("<< merges mappings only", event.start_mark)
        return entries


def _check_depth(depth: int, event: Event) -> None:
    if depth > MAX_DEPTH:
        _refuse(f"nested more than {MAX_DEPTH} levels deep", event.start_mark)


def _height(value: Json) -> int:
    if not isinstance(value, list | dict):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_height, inner), default=0)


def _is_merge_key(event: Event) -> bool:
    return isinstance(event, ScalarEvent) and event.value == "<<" and event.implicit[0]


def _scalar(event: ScalarEvent) -> Json:
    text: str = event.value
    plain = event.implicit[0] and event.tag is None
    return plain_scalar(text) if plain else text


def plain_scalar(text: str) -> Json:
    """Return what kubectl reads where a text stands without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    digits = text.replace("_", "") if text[:1] in "+-0123456789" else text
    # The longest integer in range is binary: a sign, 0b and 64 digits.
    if len(digits) <= 67 and (match := _INTEGER.fullmatch(digits)):
        number = _integer(match)
        if number in _INTEGER_RANGE:
            return number
    if _FLOAT.fullmatch(digits) and math.isfinite(value := float(digits)):
        # Go writes whole floats below 1e21 into JSON without a point, so 2.0 arrives as 2.
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    return text


def _integer(match: re.Match[str]) -> int:
    name, digits = next((name, match[name]) for name in _BASES if match[name] is not None)
    return int(match["sign"] + digits, _BASES[name])


def _check_tag(event: ScalarEvent | CollectionStartEvent) -> None:
    """Refuse tags that make anything but JSON, such as sets, bytes and objects of Python."""
    if event.tag not in _KNOWN_TAGS:
        _refuse(
            f"tag {str(event.tag).replace(_TAG_PREFIX, '!!')} is not supported", event.start_mark
        )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _explained(text: str, error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark
    if mark is not None and text.splitlines()[mark.line : mark.line + 1]:
        indentation = text.splitlines()[mark.line][: mark.column + 1]
        if "\t" in indentation and not indentation.strip():
            return "a tab stands where only spaces may; indent with spaces"
    return str(error.problem or error.context)


def _refuse(message: str, mark: _Mark | None = None) -> NoReturn:
    place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
    raise SpecError.of(place, message) from None
