"""Runs a benchmark on this machine: observe, decide, apply, until nothing is left to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpubench.api.enums import FailureClass, RunPhase
from gpubench.api.layout import PROGRESS_FILE
from gpubench.api.progress import AttemptProgress
from gpubench.lifecycle import (
    AttemptState,
    Capacity,
    Decision,
    ObservedAttempt,
    ObservedRun,
    Policy,
    StartAttempt,
    Summary,
    decide,
    run_state,
    summarize,
)
from gpubench.local.observe import observe_stored
from gpubench.local.processes import SupervisorProcess, start_supervisor
from gpubench.local.run_specs import RunSpecBuilder
from gpubench.store import ResultsFolder, ResultsFolderError
from gpubench.sweep.plan import Plan, Run

TICK_SECONDS = 0.2
STOP_SECONDS = 4.0
"""All children are gone this long after a stop; Ctrl-C promises 5 s."""


@dataclass(frozen=True)
class Snapshot:
    """What a screen shows: the whole, each run's phase, and how far the live ones are."""

    summary: Summary
    phases: dict[str, RunPhase]
    live: dict[str, AttemptProgress | None]


@dataclass(frozen=True)
class AttemptEnded:
    """What a log tells: an attempt is over."""

    run: Run
    attempt: ObservedAttempt
    phase: RunPhase


@dataclass
class Listener:
    """Whom to tell; both may do nothing."""

    on_snapshot: Callable[[Snapshot], None] = field(default=lambda _: None)
    on_attempt_ended: Callable[[AttemptEnded], None] = field(default=lambda _: None)


class LocalRunner:
    """Applies lifecycle's decisions to supervisor processes on this machine."""

    def __init__(
        self,
        plan: Plan,
        specs: RunSpecBuilder,
        folder: ResultsFolder,
        listener: Listener,
    ) -> None:
        """Continue what the results folder holds; failed runs are tried again."""
        self._specs = specs
        self._folder = folder
        self._listener = listener
        self._policy = Policy.from_spec(specs.spec)
        self._runs = {run.name: run for run in plan.runs}
        self._live: dict[str, SupervisorProcess] = {}
        self._stop_reasons: dict[str, tuple[FailureClass, str]] = {}
        self._observed = {run.name: self._read_run(run) for run in plan.runs}

    @property
    def summary(self) -> Summary:
        """Where the benchmark stands."""
        return summarize(self._policy, list(self._observed.values()), time.time())

    def run(self, should_stop: Callable[[], bool]) -> Summary:
        """Run until all is done or `should_stop` says so; nothing is left running either way.

        Raises:
            ResultsFolderError: the results folder can no longer be written.
        """
        try:
            while not should_stop():
                self._collect_ended()
                for decision in self._decide():
                    self._apply(decision)
                self._tell()
                if not self._live and (self._policy.suspended or self.summary.is_over):
                    break
                time.sleep(TICK_SECONDS)
        finally:
            self._stop_all()
        return self.summary

    def _decide(self) -> tuple[Decision, ...]:
        runs = list(self._observed.values())
        return decide(self._policy, runs, Capacity(self._specs.machine.count), time.time())

    def _apply(self, decision: Decision) -> None:
        if isinstance(decision, StartAttempt):
            self._start(self._runs[decision.run], decision)
        else:
            self._stop_reasons[decision.run] = (decision.failure, decision.message)
            self._live[decision.run].wait_or_kill(0)

    def _start(self, run: Run, decision: StartAttempt) -> None:
        taken = {slot for process in self._live.values() for slot in process.slots}
        free = [slot for slot in self._specs.machine.slots if slot not in taken]
        spec = self._specs.build(run, decision.attempt)
        try:
            attempt_folder = self._folder.create_attempt(run.name, decision.attempt)
            process = start_supervisor(spec, attempt_folder, tuple(free[: decision.gpus]))
        except OSError as error:
            msg = f"{error.filename or self._folder.path}: {error.strerror or error}"
            raise ResultsFolderError(msg) from None
        self._live[run.name] = process
        attempt = ObservedAttempt(decision.attempt, AttemptState.RUNNING, started_at=time.time())
        observed = self._observed[run.name]
        self._observed[run.name] = replace(observed, attempts=(*observed.attempts, attempt))

    def _collect_ended(self) -> None:
        for name, process in list(self._live.items()):
            if process.is_running:
                continue
            del self._live[name]
            run = self._runs[name]
            ended = self._read_ended(run, process)
            observed = self._observed[name]
            self._observed[name] = replace(observed, attempts=(*observed.attempts[:-1], ended))
            phase = run_state(self._observed[name], self._policy).phase
            self._listener.on_attempt_ended(AttemptEnded(run, ended, phase))

    def _read_ended(self, run: Run, process: SupervisorProcess) -> ObservedAttempt:
        stored = self._folder.attempts(run.name)[-1]
        acceptance = self._specs.spec.results.acceptance
        attempt = observe_stored(stored, acceptance, process.process.returncode)
        reason = self._stop_reasons.pop(run.name, None)
        if reason is not None and attempt.state is AttemptState.FAILED:
            return replace(attempt, failure=reason[0], message=reason[1])
        return attempt

    def _read_run(self, run: Run) -> ObservedRun:
        acceptance = self._specs.spec.results.acceptance
        stored = self._folder.attempts(run.name)
        return ObservedRun(
            name=run.name,
            point_hash=run.point.point_hash,
            gpus=run.point.gpus,
            attempts=tuple(observe_stored(attempt, acceptance) for attempt in stored),
            forgiven=len(stored),
        )

    def _tell(self) -> None:
        self._listener.on_snapshot(
            Snapshot(
                summary=self.summary,
                phases={n: run_state(r, self._policy).phase for n, r in self._observed.items()},
                live={name: _read_progress(p.folder) for name, p in self._live.items()},
            )
        )

    def _stop_all(self) -> None:
        """Stop what still runs; each writes the result that says it was stopped."""
        for process in self._live.values():
            process.ask_to_stop()
        deadline = time.monotonic() + STOP_SECONDS
        for process in self._live.values():
            process.wait_or_kill(deadline - time.monotonic())
        self._collect_ended()


def _read_progress(attempt_folder: Path) -> AttemptProgress | None:
    try:
        return AttemptProgress.model_validate_json((attempt_folder / PROGRESS_FILE).read_bytes())
    except (OSError, ValueError):
        return None
