from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.api.base import DNS_NAME_PATTERN
from gpubench.sweep.names import job_name, run_name, run_name_prefix

DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
HASH = "abcdefgh23"

OBJECT_NAMES = st.from_regex(DNS_NAME_PATTERN, fullmatch=True).filter(lambda name: len(name) <= 253)
REPETITIONS = st.integers(1, 100)


@pytest.mark.parametrize(
    ("benchmark", "name"),
    [
        ("demo", "demo-abcdefgh23-7"),
        ("mobilenet-image-sizes", "mobilenet-image-sizes-abcdefgh23-7"),
        ("a" * 35, "a" * 35 + "-abcdefgh23-7"),
        ("a" * 36, "a" * 25 + "-0ela5es6n-abcdefgh23-7"),
        ("a" * 24 + "-" + "b" * 20, "a" * 24 + "-0ghvozcdo-abcdefgh23-7"),
        ("mnist.v2", "mnist-v2-0m56p2zi5-abcdefgh23-7"),
        ("2026-run", "b2026-run-0trdcbm5v-abcdefgh23-7"),
        ("1", "b1-0nodle477-abcdefgh23-7"),
        ("demo-0abcdefgh", "demo-0abcdefgh-05ecosddo-abcdefgh23-7"),
    ],
)
def test_names_of_runs(benchmark: str, name: str) -> None:
    assert run_name(benchmark, HASH, 7) == name


@given(OBJECT_NAMES, REPETITIONS, st.integers(1, 999))
def test_every_name_is_one_that_a_job_may_have(name: str, repetition: int, attempt: int) -> None:
    run = run_name(name, HASH, repetition)
    assert DNS_1035.fullmatch(run)
    assert len(run) <= 50
    job = job_name(run, attempt)
    assert DNS_1035.fullmatch(job)
    assert len(job) <= 54
    assert job == f"{run}-{attempt}"


@given(OBJECT_NAMES, OBJECT_NAMES)
def test_different_benchmarks_have_different_names(one: str, other: str) -> None:
    assert (run_name_prefix(one) == run_name_prefix(other)) == (one == other)


@given(OBJECT_NAMES)
def test_no_benchmark_is_named_like_the_runs_of_another(name: str) -> None:
    prefix = run_name_prefix(name)
    if prefix != name:
        assert run_name_prefix(prefix) != prefix


@pytest.mark.parametrize(
    ("one", "other"),
    [("a" * 36, "a" * 37), ("a.b", "a-b"), ("a.b", "a..b"), ("1a", "b1a"), ("x" * 252, "x" * 253)],
)
def test_names_that_look_alike_once_shortened_stay_apart(one: str, other: str) -> None:
    assert run_name_prefix(one) != run_name_prefix(other)
