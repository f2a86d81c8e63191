"""What holds of every benchmark and every run that came to its end."""

from __future__ import annotations

from collections import Counter

import pytest

from gpubench.api.benchmark import GPUBenchmarkStatus
from gpubench.api.enums import AttemptState, BenchmarkPhase, RunPhase
from gpubench.api.run import GPUBenchmarkRunStatus
from gpubench.lifecycle.observed import LIVE_STATES
from tests.unit.controller.simulated_api import Object


def status_of(run: Object) -> GPUBenchmarkRunStatus:
    return GPUBenchmarkRunStatus.model_validate(run.get("status") or {})


def is_live(state: AttemptState) -> bool:
    return state in LIVE_STATES


def check_recount(status: GPUBenchmarkStatus, runs: list[GPUBenchmarkRunStatus]) -> None:
    """The benchmark tells what its runs tell."""
    phases = Counter(run.phase for run in runs)
    progress = status.progress
    assert progress.total == len(runs)
    assert progress.succeeded == phases[RunPhase.SUCCEEDED]
    assert progress.invalid == phases[RunPhase.INVALID]
    assert progress.failed == phases[RunPhase.FAILED]
    assert progress.running == phases[RunPhase.RUNNING] == 0
    assert progress.pending == phases[RunPhase.PENDING] + phases[RunPhase.RETRYING]
    gpu_seconds = sum(run.timing.gpu_seconds or 0.0 for run in runs)
    assert status.gpu_seconds == pytest.approx(gpu_seconds, abs=1.0)


def check_run(run: GPUBenchmarkRunStatus, phase: BenchmarkPhase) -> None:
    """A run has exactly one accepted result, or says why it has none."""
    accepted = [a for a in run.attempts if a.state is AttemptState.SUCCEEDED]
    holds = {condition.type: condition for condition in run.conditions}
    if run.phase is RunPhase.SUCCEEDED:
        assert len(accepted) == 1
        assert run.result is not None
        assert run.result.attempt == accepted[0].number
        return
    assert accepted == []
    if run.phase is RunPhase.FAILED:
        assert holds["Failed"].status == "True"
        assert holds["Failed"].message.startswith("given up after")
        assert run.attempts[-1].failure is not None
    else:
        assert phase is BenchmarkPhase.FAILED, "only a spent budget leaves runs undone"
        assert run.phase in (RunPhase.PENDING, RunPhase.RETRYING)
