"""Whatever fails and whenever: the laws that a benchmark keeps from its start to its end."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gpubench.api.enums import BenchmarkPhase, FailureClass, Isolation, ValidityStatus
from gpubench.lifecycle import (
    AttemptState,
    Capacity,
    ObservedAttempt,
    ObservedRun,
    StartAttempt,
    decide,
    run_state,
    summarize,
)
from tests.unit.lifecycle.observations import policy


class SimulatedMachine(RuleBasedStateMachine):
    """Plays a shell: runs what is decided and lets it end in any way at any time."""

    @initialize(
        gpus=st.lists(st.integers(1, 4), min_size=1, max_size=8),
        capacity=st.integers(4, 8),
        isolation=st.sampled_from(Isolation),
        parallelism=st.none() | st.integers(1, 3),
        retry_limit=st.integers(0, 3),
        failure_budget=st.none() | st.integers(0, 3),
    )
    def begin(
        self,
        gpus: list[int],
        capacity: int,
        isolation: Isolation,
        parallelism: int | None,
        retry_limit: int,
        failure_budget: int | None,
    ) -> None:
        self.policy = policy(
            isolation=isolation,
            parallelism=parallelism,
            retry_limit=retry_limit,
            failure_budget=failure_budget,
        )
        self.capacity = Capacity(capacity)
        self.runs = {f"run-{i}": ObservedRun(f"run-{i}", f"p{i}", g) for i, g in enumerate(gpus)}
        self.now = 1000.0

    def observed(self) -> list[ObservedRun]:
        return list(self.runs.values())

    def step(self) -> None:
        for decision in decide(self.policy, self.observed(), self.capacity, self.now):
            run = self.runs[decision.run]
            if isinstance(decision, StartAttempt):
                assert decision.attempt == len(run.attempts) + 1
                attempt = ObservedAttempt(decision.attempt, AttemptState.RUNNING, self.now)
                self.replace(run, (*run.attempts, attempt))
            else:
                self.end(run, AttemptState.FAILED, decision.failure)

    def replace(self, run: ObservedRun, attempts: tuple[ObservedAttempt, ...]) -> None:
        self.runs[run.name] = ObservedRun(
            run.name, run.point_hash, run.gpus, attempts, run.forgiven
        )

    def end(
        self,
        run: ObservedRun,
        state: AttemptState,
        failure: FailureClass | None = None,
        validity: ValidityStatus | None = None,
    ) -> None:
        assert run.live is not None
        ended = ObservedAttempt(
            run.live.number, state, run.live.started_at, self.now, failure, "", validity
        )
        self.replace(run, (*run.attempts[:-1], ended))

    @rule(seconds=st.floats(0, 2000))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.step()

    @rule(pick=st.integers(0), validity=st.sampled_from(ValidityStatus))
    def attempt_succeeds(self, pick: int, validity: ValidityStatus) -> None:
        live = [run for run in self.observed() if run.live]
        if live:
            self.end(live[pick % len(live)], AttemptState.SUCCEEDED, None, validity)
            self.step()

    @rule(pick=st.integers(0), failure=st.sampled_from(FailureClass))
    def attempt_fails(self, pick: int, failure: FailureClass) -> None:
        live = [run for run in self.observed() if run.live]
        if live:
            self.end(live[pick % len(live)], AttemptState.FAILED, failure)
            self.step()

    @rule()
    def shell_dies_and_starts_again(self) -> None:
        """What was running is gone; the next shell finds it cut off."""
        for run in self.observed():
            if run.live:
                self.end(run, AttemptState.FAILED, FailureClass.KILLED)
        self.step()

    @invariant()
    def never_more_gpus_than_there_are(self) -> None:
        if hasattr(self, "runs"):
            assert sum(run.gpus for run in self.observed() if run.live) <= self.capacity.gpus

    @invariant()
    def never_two_live_attempts_of_a_run(self) -> None:
        for run in getattr(self, "runs", {}).values():
            live = [a for a in run.attempts if a.state is AttemptState.RUNNING]
            assert len(live) <= 1

    @invariant()
    def nothing_runs_after_a_result(self) -> None:
        for run in getattr(self, "runs", {}).values():
            states = [attempt.state for attempt in run.attempts]
            assert AttemptState.SUCCEEDED not in states[:-1]

    @invariant()
    def progress_adds_up(self) -> None:
        if not hasattr(self, "runs"):
            return
        progress = summarize(self.policy, self.observed(), self.now).progress
        counted = progress.pending + progress.running + progress.finished
        assert counted == progress.total == len(self.runs)

    def teardown(self) -> None:
        """Left alone from here on, every benchmark ends, and each run in a stated way."""
        if not hasattr(self, "runs"):
            return
        for _ in range(100):
            self.now += 1000.0
            self.step()
            for run in self.observed():
                if run.live:
                    self.end(run, AttemptState.SUCCEEDED, None, ValidityStatus.VALID)
        summary = summarize(self.policy, self.observed(), self.now)
        assert summary.is_over
        if summary.phase is BenchmarkPhase.COMPLETED:
            assert summary.progress.finished == summary.progress.total
        for run in self.observed():
            state = run_state(run, self.policy)
            assert state.is_finished or summary.phase is BenchmarkPhase.FAILED


SimulatedMachine.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None
)
TestRandomFaults = SimulatedMachine.TestCase
