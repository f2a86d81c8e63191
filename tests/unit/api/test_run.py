from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from gpubench.api.compact import CompactResult
from gpubench.api.enums import AttemptState, FailureClass, RunPhase
from gpubench.api.execution import Execution
from gpubench.api.run import MAX_ATTEMPTS, Attempt, GPUBenchmarkRun
from gpubench.lifecycle.retries import MAX_BLAMELESS_RETRIES

RESULT = {
    "run": "demo-abcdefgh23-1",
    "attempt": 2,
    "pointHash": "abcdefgh23",
    "digest": "0" * 64,
    "outcome": "Succeeded",
    "validity": "Valid",
    "samplesPerSecond": 322.5,
}
RUN: dict[str, Any] = {
    "apiVersion": "gpubench.io/v1alpha1",
    "kind": "GPUBenchmarkRun",
    "metadata": {"name": "demo-abcdefgh23-1"},
    "spec": {
        "benchmark": "demo",
        "pointHash": "abcdefgh23",
        "parameters": {"workload": {"imageRecognition": {}}, "gpus": 2},
        "repetition": 1,
    },
    "status": {
        "phase": "Succeeded",
        "attempt": 2,
        "attempts": [
            {
                "number": 1,
                "state": "Failed",
                "jobName": "demo-abcdefgh23-1-1",
                "startTime": "2026-11-21T03:00:00Z",
                "completionTime": "2026-11-21T03:01:00Z",
                "failure": {"failureClass": "NodeLost", "message": "node gpu-1 is gone"},
            },
            {"number": 2, "state": "Succeeded", "jobName": "demo-abcdefgh23-1-2"},
        ],
        "timing": {"gpuSeconds": 240.0},
        "result": RESULT,
        "validity": {"status": "Valid"},
    },
}


def test_a_run_is_read_and_written() -> None:
    run = GPUBenchmarkRun.model_validate_json(json.dumps(RUN), strict=True)
    assert run.name == "demo-abcdefgh23-1"
    assert run.status.phase is RunPhase.SUCCEEDED
    first, second = run.status.attempts
    assert first.failure is not None
    assert first.failure.failure_class is FailureClass.NODE_LOST
    assert (second.state, second.failure) == (AttemptState.SUCCEEDED, None)
    assert run.status.result == CompactResult.model_validate(RESULT)
    assert GPUBenchmarkRun.model_validate(run.to_manifest()) == run


def test_a_new_run_waits_without_anybody_having_written_so() -> None:
    run = GPUBenchmarkRun.model_validate({key: RUN[key] for key in ("metadata", "spec")})
    assert (run.status.phase, run.status.attempt) == (RunPhase.PENDING, 0)


def test_every_attempt_that_retries_allow_has_room() -> None:
    bounds = Execution.model_json_schema()["properties"]["retryLimit"]
    assert 1 + bounds["maximum"] + MAX_BLAMELESS_RETRIES <= MAX_ATTEMPTS


@pytest.mark.parametrize(
    "change",
    [
        {"jobName": "a" * 55},
        {"jobName": "1-starts-with-a-digit"},
        {"number": 0},
        {"state": "Dancing"},
        {"failure": {"failureClass": "NodeLost", "message": "m" * 1025}},
    ],
    ids=str,
)
def test_an_attempt_outside_its_bounds_is_refused(change: dict[str, Any]) -> None:
    attempt = {"number": 1, "state": "Pending", "jobName": "demo-abcdefgh23-1-1"}
    Attempt.model_validate(attempt)
    with pytest.raises(ValidationError):
        Attempt.model_validate(attempt | change)
