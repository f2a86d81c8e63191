"""A job knows from what it was made, and since when its attempt waits."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.api.enums import Backend
from gpubench.backends import BACKENDS, JobState, read_job
from tests.unit.backends.objects import CREATED
from tests.unit.backends.requests import benchmark, request_for


def made(kind: Backend, *, waiting_since: float | None = None) -> JobState:
    """Return a job as the API server would have it."""
    manifest: dict[str, Any] = BACKENDS[kind].make_job(request_for(benchmark()), waiting_since)
    manifest["metadata"] |= {"uid": "uid", "creationTimestamp": "2030-01-01T00:00:00Z"}
    job = read_job(BACKENDS[kind], manifest)
    assert job is not None
    return job


def test_a_job_made_anew_waits_since_the_first_one() -> None:
    job = made(Backend.PYTORCH_JOB, waiting_since=CREATED)
    assert job.active_since == CREATED
    assert job.created_at > CREATED


@pytest.mark.parametrize("kind", list(Backend))
def test_a_job_of_another_spec_is_told_from_one_of_the_same(kind: Backend) -> None:
    digest = BACKENDS[kind].digest
    assert made(kind).template == digest(request_for(benchmark()))
    assert made(kind).template != digest(request_for(benchmark({"queueName": "research"})))
    assert made(kind).template != digest(request_for(benchmark(results={"volumeClaim": "other"})))
