"""Where each run stands, and whether the benchmark may go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpubench.api.enums import AttemptState, RunPhase, ValidityStatus
from gpubench.lifecycle.observed import ObservedRun, Policy
from gpubench.lifecycle.retries import may_retry, retry_at


@dataclass(frozen=True)
class RunState:
    """Where a run stands; `ready_at` is when its next attempt may start, None if it gets none."""

    phase: RunPhase
    ready_at: float | None = None

    @property
    def is_finished(self) -> bool:
        """Whether the run needs nothing more."""
        return self.phase in (RunPhase.SUCCEEDED, RunPhase.INVALID, RunPhase.FAILED)


def run_state(run: ObservedRun, policy: Policy) -> RunState:
    """Return where a run stands, from its attempts alone."""
    accepted = run.accepted
    if accepted is not None:
        valid = accepted.validity is ValidityStatus.VALID
        return RunState(RunPhase.SUCCEEDED if valid else RunPhase.INVALID)
    failures = run.counted_failures
    if run.live is not None:
        return RunState(_live_phase(run.live.state, retrying=bool(failures)))
    if not may_retry(failures, policy):
        return RunState(RunPhase.FAILED)
    phase = RunPhase.RETRYING if failures else RunPhase.PENDING
    return RunState(phase, ready_at=retry_at(failures, policy))


def _live_phase(state: AttemptState, *, retrying: bool) -> RunPhase:
    if state is AttemptState.RUNNING:
        return RunPhase.RUNNING
    return RunPhase.RETRYING if retrying else RunPhase.PENDING


def budget_is_spent(runs: Sequence[ObservedRun], policy: Policy) -> bool:
    """Tell whether more runs were given up than the failure budget allows."""
    if policy.failure_budget is None:
        return False
    given_up = sum(run_state(run, policy).phase is RunPhase.FAILED for run in runs)
    return given_up > policy.failure_budget
