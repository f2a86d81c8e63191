"""What is wrong with a file as a whole, before its spec is looked at."""

from __future__ import annotations

import pytest

from gpubench.api.errors import SpecError
from gpubench.api.parsing import parse_benchmark
from tests.unit.api.manifests import HEADER, manifest

DNS = "lower-case letters, digits, '-' and '.', a letter or digit at both ends"


def complaint(text: str | bytes) -> str:
    with pytest.raises(SpecError) as caught:
        parse_benchmark(text, "b.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ["empty; a benchmark begins with apiVersion and kind"]),
        ("# nothing\n---\n", ["empty; a benchmark begins with apiVersion and kind"]),
        ("hello", ['holds "hello", not a GPUBenchmark']),
        ("<html>", ['holds "<html>", not a GPUBenchmark']),
        ("- 1", ["holds a list, not a GPUBenchmark"]),
        (manifest() + "---\n" + manifest(), ["2 YAML documents; a benchmark's file holds one"]),
        (b"\xff\xfea\x00", ["not UTF-8 text (byte 0xff at offset 0)"]),
        (
            "apiVersion: gpubench.io/v1\nkind: Pod",
            [
                'apiVersion: "gpubench.io/v1" is not allowed; allowed: gpubench.io/v1alpha1',
                'kind: "Pod" is not allowed; allowed: GPUBenchmark',
            ],
        ),
        (
            "spec: {}",
            [
                "apiVersion: required but missing; allowed: gpubench.io/v1alpha1",
                "kind: required but missing; allowed: GPUBenchmark",
            ],
        ),
        (HEADER, ["spec: required but missing"]),
        (HEADER + "spec: 3", ["spec: 3 is not a mapping"]),
        (HEADER + "spec: {}", ["spec.workload: required but missing"]),
        (
            manifest().replace("{name: demo}", "{}"),
            [f"metadata.name: required but missing; allowed: {DNS}"],
        ),
        (
            manifest().replace("metadata: {name: demo}\n", ""),
            [f"metadata.name: required but missing; allowed: {DNS}"],
        ),
        (
            manifest().replace("name: demo", "name: Demo_1"),
            [f'metadata.name: "Demo_1" is not allowed; allowed: {DNS}'],
        ),
        (
            manifest().replace("name: demo", f"name: {'n' * 254}"),
            [f'metadata.name: "{"n" * 58}… is 254 characters long; allowed: at most 253'],
        ),
        (
            manifest().replace("name: demo", "name: demo, labels: {a: 1}"),
            ["metadata.labels.a: 1 is not text: put it in quotes"],
        ),
        (
            manifest().replace("{name: demo}", "[]"),
            [f"metadata.name: required but missing; allowed: {DNS}"],
        ),
        (manifest().replace("{name: demo}", "[1]"), ["metadata: a list is not a mapping"]),
        (
            manifest() + "speck: 1",
            [
                "speck: unknown field; did you mean spec? "
                "allowed: apiVersion, kind, metadata, spec, status"
            ],
        ),
        (
            manifest("gpus: 9\n  suspend: maybe"),
            [
                "spec.gpus: 9 is not allowed; allowed: 1 to 8",
                'spec.suspend: "maybe" is not true or false (quotes make it text); '
                "allowed: true, false",
            ],
        ),
    ],
)
def test_a_problem_of_the_file_is_named(text: str | bytes, lines: list[str]) -> None:
    assert complaint(text).splitlines() == [f"b.yaml: {line}" for line in lines]


def test_problems_are_there_for_programs_too() -> None:
    with pytest.raises(SpecError) as caught:
        parse_benchmark(manifest("gpus: 9"), "b.yaml")
    (problem,) = caught.value.problems
    assert (problem.source, problem.path) == ("b.yaml", "spec.gpus")
    assert isinstance(caught.value, ValueError)
