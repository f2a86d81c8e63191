"""Runs whose status is to be written, each as soon as it is worth a write."""

from __future__ import annotations

from collections.abc import Mapping

from gpubench.api.enums import RunPhase
from gpubench.api.run import GPUBenchmarkRunStatus
from gpubench.controller.announcements import Announcer
from gpubench.controller.cache import BenchmarkCache, RunRecord
from gpubench.controller.children import Children
from gpubench.controller.observer import RunView
from gpubench.controller.planning import Assignment
from gpubench.lifecycle import make_run_status
from gpubench.lifecycle.observed import LIVE_STATES

SETTLE_SECONDS = 1.0
"""A run that starts or goes on is told of once it has done so for so long."""


class RunStatuses:
    """Writes what differs from what the API server holds.

    What has ended is written at once. What only begins may end before anybody has read so.
    """

    def __init__(
        self, cache: BenchmarkCache, children: Children, announcer: Announcer, namespace: str
    ) -> None:
        self._cache = cache
        self._children = children
        self._announcer = announcer
        self._namespace = namespace
        self._changed_at: dict[str, float] = {}
        """Runs that may differ from their status, and since when."""

    @property
    def are_waiting(self) -> bool:
        """Whether some will be due later."""
        return bool(self._changed_at)

    def changed(self, name: str, now: float) -> None:
        """Take note that a run is not what it was."""
        self._changed_at.setdefault(name, now)

    def forget(self, name: str) -> None:
        """Take note that a run is no longer asked for."""
        self._changed_at.pop(name, None)

    def forget_all(self) -> None:
        """Take note that all will be looked at again."""
        self._changed_at.clear()

    def due(self, views: Mapping[str, RunView], now: float) -> list[str]:
        """Return the runs to write now."""
        return [
            name
            for name, since in self._changed_at.items()
            if now - since >= SETTLE_SECONDS or self._has_news(views[name])
        ]

    def _has_news(self, view: RunView) -> bool:
        """Tell whether an attempt has ended that is not recorded, or none is alive."""
        run, record = view.run, self._cache.runs.get(view.run.name)
        if run.live is None or record is None:
            return True
        recorded = {a.number for a in record.status.attempts if a.state not in LIVE_STATES}
        return any(a.number not in recorded for a in run.attempts if a is not run.live)

    async def write(self, view: RunView, assignment: Assignment, now: float) -> None:
        """Write a run's status if it has changed, and tell of attempts that failed."""
        name = view.run.name
        record = self._cache.runs.get(name)
        status = _new_status(view, record, assignment, now) if record else None
        if record is not None and status is not None:
            await self._children.write_run_status(record, status)
            await self._announcer.run_changed(self._namespace, record, record.status, status)
        self._changed_at.pop(name, None)


def _new_status(
    view: RunView, record: RunRecord, assignment: Assignment, now: float
) -> GPUBenchmarkRunStatus | None:
    """Return the status to write, None where it is what the API server has."""
    previous = record.status
    if not view.run.attempts and previous.phase is RunPhase.PENDING:
        # As the API server says by itself of a run that has not begun.
        return None
    status = make_run_status(
        view.run,
        assignment.policy,
        view.result,
        assignment.benchmark.spec.results.acceptance,
        previous.conditions,
        now,
        view.telemetry,
    )
    return None if status == previous else status
