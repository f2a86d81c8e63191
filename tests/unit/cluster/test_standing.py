"""What a person who follows a benchmark is shown."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.api.enums import RunPhase
from gpubench.cluster.standing import bad_news, ended_attempts, is_over, is_refused, standing
from tests.unit.cluster.objects import (
    attempt,
    benchmark,
    compact,
    failure,
    planned,
    run_object,
    spec_of,
)
from tests.unit.results import succeeded


def status(phase: str = "Running", generation: int = 2, **fields: Any) -> dict[str, Any]:
    return {"phase": phase, "observedGeneration": generation, **fields}


def condition(kind: str, holds: str, reason: str = "Reason") -> dict[str, str]:
    return {
        "type": kind,
        "status": holds,
        "reason": reason,
        "message": "do this",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def test_live_attempts_are_those_with_a_job_the_waiting_ones_last() -> None:
    runs = [
        run_object(planned(0), phase="Running", attempts=[attempt(1, "Pending")]),
        run_object(
            planned(1),
            phase="Running",
            attempts=[attempt(1, "Failed", failure=failure()), attempt(2, "Running")],
        ),
    ]
    progress = {"total": 2, "running": 2}
    eta = "1970-01-01T00:01:00Z"
    now = standing(benchmark(status(progress=progress, estimatedCompletionTime=eta)), runs)
    assert [(each.run, each.number) for each in now.live] == [
        (planned(1).name, 2),
        (planned(0).name, 1),
    ]
    assert now.live[0].started_at == 1_767_225_600.0
    assert now.live[1].started_at is None
    assert (now.progress.running, now.estimated_completion_at) == (2, 60.0)


def test_a_benchmark_that_nobody_has_looked_at() -> None:
    assert standing(benchmark(), []).progress.total == 0


def test_an_attempt_that_was_followed_by_another_one_left_its_run_retrying() -> None:
    result = compact(succeeded(spec_of(planned(), attempt=2)))
    run = run_object(
        planned(),
        phase="Succeeded",
        attempts=[attempt(1, "Failed", failure=failure()), attempt(2, "Succeeded")],
        result=result,
    )
    first, second = ended_attempts([run])
    assert (first.phase, first.throughput, first.seconds) == (RunPhase.RETRYING, None, 60.0)
    assert (second.phase, second.throughput) == (RunPhase.SUCCEEDED, 640.0)


def test_an_attempt_whose_pod_never_started_has_no_duration() -> None:
    never = attempt(1, "Failed", failure=failure())
    del never["startTime"]
    (ended,) = ended_attempts([run_object(planned(), phase="Failed", attempts=[never])])
    assert ended.seconds is None


@pytest.mark.parametrize(
    ("phase", "observed", "running", "over"),
    [
        ("Running", 2, 1, False),
        ("Completed", 2, 0, True),
        ("Failed", 2, 0, True),
        ("Completed", 1, 0, False),
        ("Suspended", 2, 1, False),
        ("Suspended", 2, 0, True),
    ],
)
def test_over_is_what_the_present_spec_has_come_to(
    phase: str, observed: int, running: int, over: bool
) -> None:
    found = benchmark(status(phase, observed, progress={"total": 2, "running": running}))
    assert is_over(found, 2) is over


def test_nothing_is_over_before_an_operator_has_looked() -> None:
    assert not is_over(benchmark(), 1)


def test_news_is_what_keeps_runs_from_starting() -> None:
    conditions = [
        condition("Accepted", "True"),
        condition("Complete", "False"),
        condition("Degraded", "True", "VolumeClaimMissing"),
    ]
    found = benchmark(status(conditions=conditions))
    assert bad_news(found) == ("VolumeClaimMissing: do this",)
    assert not is_refused(found)


def test_a_spec_that_the_operator_refuses() -> None:
    found = benchmark(status("Failed", conditions=[condition("Accepted", "False", "ImageRefused")]))
    assert is_refused(found)
    assert bad_news(found) == ("ImageRefused: do this",)
