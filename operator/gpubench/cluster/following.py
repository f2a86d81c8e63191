"""Follows a benchmark by what the API server tells of it, until it is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gpubench.api.benchmark import GPUBenchmark
from gpubench.cluster.connection import Cluster
from gpubench.cluster.errors import ClusterError, NotFoundError
from gpubench.cluster.resources import (
    find_run,
    generation_of,
    get_benchmark,
    list_runs,
    uid_of,
)
from gpubench.cluster.standing import (
    EndedAttempt,
    Standing,
    bad_news,
    ended_attempts,
    is_over,
    standing,
)

POLL_SECONDS = 1.0
RUNS_SECONDS = 15.0
"""All runs are read when the benchmark's status has changed, and this often in any case."""
MOST_LIVE_RUNS = 16
"""So many live runs are read each time, for a pod's start changes nothing in the benchmark."""
TICK_SECONDS = 0.2
PATIENCE_SECONDS = 300.0
"""An API server that was there may be away for so long: it is upgraded, a network changes."""
OPERATOR_SECONDS = 20.0
"""An operator that runs has looked at a new benchmark long before."""
NO_OPERATOR = (
    "the benchmark is applied, but no operator has looked at it yet; does gpubench's run in this "
    "cluster? (kubectl get pods -A -l app.kubernetes.io/name=gpubench)"
)


@dataclass
class Audience:
    """Whom to tell; all may do nothing."""

    on_standing: Callable[[Standing], None] = field(default=lambda _: None)
    on_ended: Callable[[EndedAttempt], None] = field(default=lambda _: None)
    on_news: Callable[[str], None] = field(default=lambda _: None)


class Follower:
    """Looks at one benchmark again and again, and tells what is new."""

    def __init__(self, cluster: Cluster, benchmark: GPUBenchmark, audience: Audience) -> None:
        """Follow a benchmark as it was applied; attempts that are over by now are no news."""
        self._cluster = cluster
        self._benchmark = benchmark
        self._generation = generation_of(benchmark)
        self._audience = audience
        self.runs = list_runs(cluster, benchmark)
        self._runs_read_at = time.monotonic()
        self._told = {(each.run, each.attempt.number) for each in ended_attempts(self.runs)}
        self._news: tuple[str, ...] = ()

    @property
    def finished(self) -> int:
        """How many runs need nothing more."""
        status = self._benchmark.status
        return status.progress.finished if status else 0

    def follow(self, should_stop: Callable[[], bool]) -> GPUBenchmark:
        """Follow until the benchmark is over or `should_stop` says so; return it as it is then.

        Raises:
            ClusterError: it was deleted, or the cluster could not be read for a long time.
        """
        began = read_at = time.monotonic()
        while True:
            try:
                self._look()
                read_at = time.monotonic()
                self._tell(waited=read_at - began)
            except NotFoundError:
                raise
            except ClusterError as error:
                if time.monotonic() - read_at > PATIENCE_SECONDS:
                    raise
                self._tell_news((f"{error}; trying again",))
            if should_stop() or is_over(self._benchmark, self._generation):
                return self._benchmark
            _wait(POLL_SECONDS, should_stop)

    def _look(self) -> None:
        found = get_benchmark(self._cluster, self._benchmark.name)
        if uid_of(found) != uid_of(self._benchmark):
            msg = f"{found.name}: was deleted and created again by somebody else"
            raise NotFoundError(msg)
        changed = found.status != self._benchmark.status
        self._benchmark = found
        # What is told at the end is read after it.
        over = is_over(found, self._generation)
        if changed or over or time.monotonic() - self._runs_read_at > RUNS_SECONDS:
            self.runs = list_runs(self._cluster, found)
            self._runs_read_at = time.monotonic()
        else:
            self._read_live_runs()

    def _read_live_runs(self) -> None:
        live = {each.run for each in standing(self._benchmark, self.runs).live}
        for name in sorted(live)[:MOST_LIVE_RUNS]:
            found = find_run(self._cluster, name)
            if found is not None:
                self.runs = [found if run.name == name else run for run in self.runs]

    def _tell(self, waited: float) -> None:
        for each in ended_attempts(self.runs):
            key = (each.run, each.attempt.number)
            if key not in self._told:
                self._told.add(key)
                self._audience.on_ended(each)
        status = self._benchmark.status
        seen = status is not None and (status.observed_generation or 0) >= self._generation
        if not seen and waited > OPERATOR_SECONDS:
            self._tell_news((NO_OPERATOR,))
        elif seen:
            self._tell_news(bad_news(self._benchmark))
        self._audience.on_standing(standing(self._benchmark, self.runs))

    def _tell_news(self, news: tuple[str, ...]) -> None:
        """Tell each sentence when it begins to hold, and not again while it does."""
        for sentence in news:
            if sentence not in self._news:
                self._audience.on_news(sentence)
        self._news = news


def _wait(seconds: float, should_stop: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not should_stop():
        time.sleep(TICK_SECONDS)
