"""The benchmark as a whole."""

from __future__ import annotations

import pytest

from gpubench.api.enums import BenchmarkPhase, FailureClass, ValidityStatus
from gpubench.lifecycle import ObservedRun, summarize
from tests.unit.lifecycle.observations import failed, observed_run, policy, running, succeeded

DONE = observed_run(succeeded(), name="done")
INVALID = observed_run(succeeded(validity=ValidityStatus.INVALID), name="invalid")
GIVEN_UP = observed_run(failed(FailureClass.BAD_SPEC), name="given-up")
LIVE = observed_run(running(), name="live")
NEW = observed_run(name="new")


@pytest.mark.parametrize(
    ("runs", "budget", "suspended", "phase"),
    [
        ([], None, False, BenchmarkPhase.COMPLETED),
        ([NEW], None, False, BenchmarkPhase.PENDING),
        ([NEW], None, True, BenchmarkPhase.SUSPENDED),
        ([LIVE, NEW], None, False, BenchmarkPhase.RUNNING),
        ([DONE, NEW], None, True, BenchmarkPhase.SUSPENDED),
        ([DONE, INVALID, GIVEN_UP], None, False, BenchmarkPhase.COMPLETED),
        ([DONE], None, True, BenchmarkPhase.COMPLETED),
        ([GIVEN_UP, LIVE, NEW], 0, False, BenchmarkPhase.RUNNING),
        ([GIVEN_UP, DONE, NEW], 0, False, BenchmarkPhase.FAILED),
        ([GIVEN_UP, DONE], 0, False, BenchmarkPhase.FAILED),
    ],
)
def test_phase(
    runs: list[ObservedRun], budget: int | None, phase: BenchmarkPhase, *, suspended: bool
) -> None:
    rules = policy(failure_budget=budget, suspended=suspended)
    assert summarize(rules, runs, 0.0).phase is phase


def test_progress_counts_each_run_once() -> None:
    runs = [DONE, INVALID, GIVEN_UP, LIVE, NEW, observed_run(failed(), name="retrying")]
    progress = summarize(policy(), runs, 0.0).progress
    assert progress.to_json_dict() == {
        "total": 6,
        "pending": 2,
        "running": 1,
        "succeeded": 1,
        "invalid": 1,
        "failed": 1,
    }


def test_gpu_seconds_cover_all_attempts() -> None:
    runs = [
        observed_run(failed(end=50.0), succeeded(start=60.0, seconds=40.0), gpus=2),
        observed_run(running(since=100.0), gpus=3),
    ]
    assert summarize(policy(), runs, 110.0).gpu_seconds == 2 * (50 + 40) + 3 * 10


def test_time_to_go_comes_from_runs_alike() -> None:
    runs = [
        observed_run(succeeded(seconds=100.0), name="one", gpus=1),
        observed_run(succeeded(seconds=40.0), name="two", gpus=2),
        observed_run(running(since=990.0), name="live", gpus=2),
        observed_run(name="next", gpus=1),
    ]
    assert summarize(policy(), runs, 1000.0).estimated_completion_at == 1000 + (40 - 10) + 100


def test_time_to_go_is_unknown_before_anything_finished() -> None:
    assert summarize(policy(), [LIVE, NEW], 5.0).estimated_completion_at is None


def test_best_is_the_fastest_valid_run() -> None:
    runs = [
        observed_run(succeeded(throughput=10.0), name="slow"),
        observed_run(succeeded(throughput=20.0), name="fast"),
        observed_run(succeeded(throughput=30.0, validity=ValidityStatus.INVALID), name="wrong"),
    ]
    summary = summarize(policy(), runs, 0.0)
    assert (summary.best_run, summary.best_throughput) == ("fast", 20.0)
