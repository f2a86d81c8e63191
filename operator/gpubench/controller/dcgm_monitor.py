"""Looks at the GPUs of runs through the exporters of their nodes, and tells what they did.

What is seen is kept in memory until an attempt's end is recorded: after a restart the operator
begins anew, and the coverage that it tells is of the whole training all the same.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

from gpubench.api.run_telemetry import MAX_NOTES, RunTelemetry
from gpubench.controller.cache import BenchmarkCache, ClusterCache
from gpubench.controller.client import KubernetesClient
from gpubench.controller.counters import DcgmCounters
from gpubench.controller.exporters import Exporters
from gpubench.controller.settings import DcgmSettings
from gpubench.controller.watched_attempts import (
    AttemptKey,
    EndedAttempt,
    WatchedAttempt,
    attempt_of,
    ended_attempt,
    forgotten_attempts,
    running_attempts,
    window_of,
)
from gpubench.telemetry.dcgm import Bounds, Collector, ExporterHistory, run_telemetry
from gpubench.telemetry.dcgm.history import DEFAULT_REFRESH_SECONDS

ROUND_SECONDS = 1.0
KEEP_SECONDS = 90.0
"""An exporter is asked for so long after it was last needed: the next run knows its rhythm."""
MOST_PATIENCE_SECONDS = 150.0
"""For so long at most an exporter is waited for after an attempt's end."""
CLOCK_SECONDS = 2.0
"""Where a node's clock is further off than this, its pods' times are put right."""
TIMEOUT_SECONDS = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DcgmMonitor:
    """Follows exporters for as long as runs need them."""

    cluster: ClusterCache
    client: KubernetesClient
    settings: DcgmSettings
    counters: DcgmCounters

    async def run(self) -> None:
        """Watch until cancelled."""
        collector = Collector(
            interval_seconds=self.settings.interval_seconds,
            bounds=Bounds(seconds=TIMEOUT_SECONDS),
            counters=self.counters,
        )
        async with collector:
            rounds = _Rounds(self.cluster, Exporters(self.client, self.settings), collector)
            while True:
                await rounds.go(time.time())
                await asyncio.sleep(ROUND_SECONDS)


class _Rounds:
    """What is remembered from one round to the next."""

    def __init__(self, cluster: ClusterCache, exporters: Exporters, collector: Collector) -> None:
        self._cluster = cluster
        self._exporters = exporters
        self._collector = collector
        self._watched: dict[AttemptKey, WatchedAttempt] = {}
        self._needed_at: dict[str, float] = {}
        """When a node's exporter was last needed."""

    async def go(self, now: float) -> None:
        """Take note of what runs, follow the exporters of its nodes, tell of what has ended."""
        for cache in self._cluster.benchmarks():
            for watched in running_attempts(cache):
                self._watched[watched.key] = watched
            if self._exporters.are_there:
                for forgotten in forgotten_attempts(cache, now - MOST_PATIENCE_SECONDS):
                    self._watched.setdefault(forgotten.key, forgotten)
        self._needed_at |= {w.node: now for w in self._watched.values() if w.node}
        needed = {n: at for n, at in self._needed_at.items() if now - at < KEEP_SECONDS}
        self._needed_at = needed
        self._collector.follow(await self._exporters.of_nodes(needed, now))
        for watched in list(self._watched.values()):
            self._look_at(watched, now)
        self._tidy(now)

    def _look_at(self, watched: WatchedAttempt, now: float) -> None:
        """Tell of an attempt that is recorded as over; forget one that is gone."""
        cache = self._cluster.benchmark(watched.benchmark_uid)
        record = cache.runs.get(watched.run)
        if record is None or record.uid != watched.key[0]:
            del self._watched[watched.key]
            self._cluster.telemetry.pop(watched.key, None)
            return
        ended = ended_attempt(record, watched.key[1])
        if ended is None:
            return
        if not self._exporters.are_there:
            del self._watched[watched.key]
            return
        telemetry = self._telemetry(watched, ended, now)
        if telemetry.final:
            del self._watched[watched.key]
        if self._cluster.telemetry.get(watched.key) != telemetry:
            self._cluster.telemetry[watched.key] = telemetry
            _wake(cache, watched.run)

    def _telemetry(self, watched: WatchedAttempt, ended: EndedAttempt, now: float) -> RunTelemetry:
        names = self._exporters.names_for(watched.node)
        histories = {n: h for n, h in self._collector.histories.items() if n in names}
        offset = self._clock_offset(watched, histories)
        nvml = ended.result.telemetry if ended.result else None
        attempt = attempt_of(watched, ended, offset)
        found = run_telemetry(attempt, window_of(ended, offset), histories, nvml)
        if found.final or now - attempt.ended_at <= _patience(histories):
            return found
        note = "no exporter showed anything new after the end"
        notes = [*found.notes[: MAX_NOTES - 1], note]
        return found.model_copy(update={"final": True, "notes": notes})

    def _clock_offset(
        self, watched: WatchedAttempt, histories: Mapping[str, ExporterHistory]
    ) -> float:
        """Return how far the clock of an attempt's node is ahead of ours, if that is far."""
        for name, history in histories.items():
            offset = history.clock_offset or 0.0
            if self._exporters.is_on(name, watched.node) and abs(offset) > CLOCK_SECONDS:
                return offset
        return 0.0

    def _tidy(self, now: float) -> None:
        """Forget what nobody will ask for."""
        if not self._needed_at:
            self._collector.forget(list(self._collector.histories))
        if not self._watched:
            for history in self._collector.histories.values():
                history.forget_before(now - KEEP_SECONDS)


def _patience(histories: Mapping[str, ExporterHistory]) -> float:
    refreshes = [h.refresh_seconds or DEFAULT_REFRESH_SECONDS for h in histories.values()]
    return min(2.0 * max(refreshes, default=0.0) + 5.0, MOST_PATIENCE_SECONDS)


def _wake(cache: BenchmarkCache, run: str) -> None:
    cache.changed.add(run)
    cache.wake.set()
