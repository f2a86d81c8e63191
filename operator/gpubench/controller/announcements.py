"""Which changes become Events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpubench.api.benchmark import Condition, GPUBenchmarkStatus
from gpubench.api.enums import AttemptState, BenchmarkPhase
from gpubench.api.run import GPUBenchmarkRunStatus
from gpubench.controller.cache import RunRecord
from gpubench.controller.client import BENCHMARKS, RUNS
from gpubench.controller.events import EventKind, EventWriter, Subject


class Announcer:
    """Compares what was told before with what is told now."""

    def __init__(self, events: EventWriter) -> None:
        self._events = events

    async def status_changed(
        self, body: Mapping[str, Any], old: GPUBenchmarkStatus, new: GPUBenchmarkStatus
    ) -> None:
        """Tell of a benchmark that was accepted, refused, impeded, freed or finished."""
        metadata = body["metadata"]
        subject = Subject(BENCHMARKS, metadata["namespace"], metadata["name"], metadata["uid"])
        before = {condition.type: condition for condition in old.conditions}
        for condition in new.conditions:
            was = before.get(condition.type)
            if condition.type == "Accepted" and _differs(was, condition):
                kind: EventKind = "Normal" if condition.status == "True" else "Warning"
                await self._events.write(subject, kind, condition.reason, condition.message)
            elif condition.type == "Degraded" and _differs(was, condition):
                await self._tell_obstacle(subject, was, condition)
        if new.phase is not old.phase and old.conditions:
            await self._tell_phase(subject, new)

    async def _tell_obstacle(self, subject: Subject, was: Condition | None, now: Condition) -> None:
        if now.status == "True":
            await self._events.write(subject, "Warning", now.reason, now.message)
        elif was is not None:
            await self._events.write(subject, "Normal", "Recovered", f"no longer: {was.reason}")

    async def _tell_phase(self, subject: Subject, new: GPUBenchmarkStatus) -> None:
        progress = new.progress
        counts = (
            f"{progress.succeeded} valid, {progress.invalid} invalid, {progress.failed} failed "
            f"of {progress.total} runs"
        )
        good = new.phase is not BenchmarkPhase.FAILED
        await self._events.write(subject, "Normal" if good else "Warning", new.phase, counts)

    async def run_changed(
        self,
        namespace: str,
        record: RunRecord,
        old: GPUBenchmarkRunStatus,
        new: GPUBenchmarkRunStatus,
    ) -> None:
        """Tell of attempts that failed."""
        known = {a.number for a in old.attempts if a.state is AttemptState.FAILED}
        subject = Subject(RUNS, namespace, record.name, record.uid)
        for attempt in new.attempts:
            if attempt.failure is not None and attempt.number not in known:
                failure = attempt.failure
                message = f"attempt {attempt.number}: {failure.message}"
                await self._events.write(subject, "Warning", failure.failure_class, message)


def _differs(was: Condition | None, now: Condition) -> bool:
    return was is None or (was.status, was.reason) != (now.status, now.reason)
