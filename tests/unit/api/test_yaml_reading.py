from __future__ import annotations

import math
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpubench.api.errors import SpecError
from gpubench.api.yaml_reading import MAX_CHARACTERS, read_documents
from gpubench.api.yaml_writing import to_yaml

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


# What kubectl 1.34 makes of them (go.yaml.in/yaml/v2, resolve.go), which is not what PyYAML does.
@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("3e-4", 0.0003),
        ("1e3", 1000),
        ("2.0", 2),
        ("2.5", 2.5),
        (".5", 0.5),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0o17", 15),
        ("017", 15),
        ("08", 8),
        ("0b101", 5),
        ("-0b101", -5),
        ("+5", 5),
        ("1:30", "1:30"),
        ("2026-11-21", "2026-11-21"),
        ("Off", False),
        ("no", False),
        ("n", False),
        ("Yes", True),
        ("on", True),
        ("~", None),
        ("", None),
        ("null", None),
        (".inf", math.inf),
        ("-.inf", -math.inf),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 18446744073709551616),
        ("1e30", 1e30),
        ("1e999", "1e999"),
        ("0x1ffffffffffffffffffff", "0x1ffffffffffffffffffff"),
        ("0b2", "0b2"),
        ("-", None),
        ("FP32", "FP32"),
        ('"3e-4"', "3e-4"),
        ("'yes'", "yes"),
        ("!!str 5", "5"),
        ("! 5", "5"),
    ],
)
def test_scalars_mean_what_they_mean_to_kubectl(scalar: str, value: Any) -> None:
    if scalar == "-":
        assert read_documents("key:\n- ") == [{"key": [None]}]
        return
    (document,) = read_documents(f"key: {scalar}")
    assert document == {"key": value}
    assert type(document["key"]) is type(value)


def test_not_a_number_is_read_as_such() -> None:
    (document,) = read_documents("key: .nan")
    assert math.isnan(document["key"])


def test_a_very_long_number_is_no_trouble() -> None:
    (document,) = read_documents(f"key: {'9' * 10_000}")
    assert document == {"key": "9" * 10_000}


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("", []),
        ("---\n---\n", []),
        ("a: 1\n---\n", [{"a": 1}]),
        ("a: 1\n---\nb: 2", [{"a": 1}, {"b": 2}]),
        ("\ufeffa: 1", [{"a": 1}]),
        ('{"a": [1, true, null]}', [{"a": [1, True, None]}]),
        ("1: a\ntrue: b\n2.5: c", [{"1": "a", "true": "b", "2.5": "c"}]),
        ("a: &x {b: 1}\nc: *x", [{"a": {"b": 1}, "c": {"b": 1}}]),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}", [{"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}]),
        (
            "a: &x {k: 1}\nb: &y {k: 2, l: 2}\nc: {<<: [*x, *y]}",
            [{"a": {"k": 1}, "b": {"k": 2, "l": 2}, "c": {"k": 1, "l": 2}}],
        ),
        ('"<<": 1', [{"<<": 1}]),
    ],
)
def test_documents_are_read(text: str, documents: list[Any]) -> None:
    assert read_documents(text) == documents


def test_what_an_alias_stands_for_is_not_shared() -> None:
    (document,) = read_documents("a: &x [1]\nb: *x")
    document["a"].append(2)
    assert document["b"] == [1]


BILLION_LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


# Each line is shallow enough by itself.
TOWER = (
    "a: &a "
    + "[" * 40
    + "]" * 40
    + "\n"
    + "".join(
        f"{name}: &{name} " + "[" * 40 + f"*{before}" + "]" * 40 + "\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "\ta: 1",
            "line 1, column 1: not valid YAML: a tab stands where only spaces may; "
            "indent with spaces",
        ),
        (
            "a:\n  b: 1\n  \tc: 1",
            "line 3, column 3: not valid YAML: a tab stands where only spaces may; "
            "indent with spaces",
        ),
        (
            "a: b: c",
            "line 1, column 5: not valid YAML: mapping values are not allowed in this context",
        ),
        (
            "a: [1,",
            "line 2, column 1: not valid YAML: did not find expected node content",
        ),
        (
            "@a",
            "line 1, column 1: not valid YAML: found character that cannot start any token",
        ),
        (
            "a: \x00",
            "not valid YAML: unacceptable character #x0000: control characters are not allowed",
        ),
        ("a: \ud800", "not UTF-8 text"),
        ("a: 1\na: 2", 'line 2, column 1: key "a" is there twice'),
        ("a: {b: 1, b: 2}", 'line 1, column 11: key "b" is there twice'),
        ("1: a\n'1': b", 'line 2, column 1: key "1" is there twice'),
        ("[a]: b", "line 1, column 1: a key must be a word"),
        ("~: b", "line 1, column 1: a key must be a word"),
        ("a: *b", "line 1, column 4: alias *b has no anchor before it"),
        ("a: &a [*a]", "line 1, column 8: alias *a has no anchor before it"),
        ("<<: 3", "line 1, column 5: << merges mappings only"),
        (
            "a: !!python/object/apply:os.system [ls]",
            "line 1, column 4: tag !!python/object/apply:os.system is not supported",
        ),
        ("a: !!binary aGk=", "line 1, column 4: tag !!binary is not supported"),
        ("a: !secret b", "line 1, column 4: tag !secret is not supported"),
        ("[" * 100_000, "line 1, column 66: nested more than 64 levels deep"),
        (TOWER, "line 2, column 47: nested more than 64 levels deep"),
        (BILLION_LAUGHS, "line 4, column 36: aliases expand to more than 10,000 values"),
        (
            "#" * (MAX_CHARACTERS + 1),
            "1,500,001 characters are too much for a benchmark; allowed: 1,500,000",
        ),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_what_cannot_be_read_is_named(text: str, line: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_documents(text)
    assert str(caught.value) == line


def test_hostile_files_are_refused_at_once() -> None:
    start = time.perf_counter()
    for text in ("[" * 1_000_000, "{a: " * 250_000, BILLION_LAUGHS * 2):
        with pytest.raises(SpecError):
            read_documents(text)
    assert time.perf_counter() - start < 5


@given(JSON)
def test_what_is_written_reads_back_here_and_in_pyyaml(value: Any) -> None:
    text = to_yaml({"value": value})
    assert read_documents(text) == [{"value": value}]
    assert yaml.safe_load(text) == {"value": value}


@pytest.mark.parametrize("text", ["\x85", "a\x85b", "\u2028", "\ufeffa", "a\tb", "a\nb\n", " a "])
def test_odd_characters_survive(text: str) -> None:
    assert read_documents(to_yaml({text: [text]})) == [{text: [text]}]


@pytest.mark.parametrize("word", ["3e-4", "y", "N", "0o17", "1_0", "1e3", "on", "08"])
def test_words_that_kubectl_takes_for_something_else_are_written_in_quotes(word: str) -> None:
    assert to_yaml([word]) == f"- '{word}'\n"
