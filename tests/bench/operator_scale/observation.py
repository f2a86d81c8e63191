"""When each run's end stood in its status, and when the benchmark's status counted it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

from tests.bench.operator_scale.api import BENCHMARKS, OURS, RUNS, Api, Object

FINISHED = ("Succeeded", "Invalid", "Failed")
POLL_SECONDS = 0.2


@dataclass
class Observation:
    """What two watches told of one benchmark."""

    benchmark: str
    created_at: dict[str, float] = field(default_factory=dict)
    """By run."""
    recorded_at: dict[str, float] = field(default_factory=dict)
    """By run, in the order in which their ends were written."""
    counts: list[tuple[float, int]] = field(default_factory=list)
    """When the benchmark's status changed, and how many runs it said were finished."""
    status: Object = field(default_factory=dict)
    """The benchmark's latest."""
    watches: list[asyncio.Task[None]] = field(default_factory=list)

    def take_run(self, run: Object) -> None:
        if run["spec"]["benchmark"] != self.benchmark:
            return
        name, now = run["metadata"]["name"], time.time()
        self.created_at.setdefault(name, now)
        if run.get("status", {}).get("phase") in FINISHED:
            self.recorded_at.setdefault(name, now)

    def take_benchmark(self, benchmark: Object) -> None:
        if benchmark["metadata"]["name"] != self.benchmark or "status" not in benchmark:
            return
        self.status = benchmark["status"]
        progress = self.status["progress"]
        finished = sum(progress[state] for state in ("succeeded", "invalid", "failed"))
        self.counts.append((time.time(), finished))

    def counted_at(self) -> dict[str, float]:
        """Return by run when the benchmark's status counted it.

        Its status counts ends in the order in which they were written.
        """
        counted: dict[str, float] = {}
        names = iter(self.recorded_at)
        for moment, finished in self.counts:
            while len(counted) < min(finished, len(self.recorded_at)):
                counted[next(names)] = moment
        return counted

    async def until(self, what: str, condition: Callable[[], bool], seconds: float) -> None:
        """Wait for something that the watches tell."""
        deadline = time.monotonic() + seconds
        while not condition():
            for watch in self.watches:
                if watch.done():
                    watch.result()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: not within {seconds:g} s; status: {self.status}")
            await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def observing(api: Api, benchmark: str) -> AsyncIterator[Observation]:
    """Watch while the context lasts."""
    observation = Observation(benchmark)
    observation.watches = [
        asyncio.create_task(_watch(api, RUNS, OURS, observation.take_run)),
        asyncio.create_task(_watch(api, BENCHMARKS, "", observation.take_benchmark)),
    ]
    await asyncio.sleep(POLL_SECONDS)
    try:
        yield observation
    finally:
        for watch in observation.watches:
            watch.cancel()
        await asyncio.gather(*observation.watches, return_exceptions=True)


async def _watch(api: Api, path: str, selector: str, take: Callable[[Object], None]) -> None:
    _, version = await api.list(path, selector)
    async for event in api.watch(path, version, selector):
        if event["type"] in ("ADDED", "MODIFIED"):
            take(event["object"])


@dataclass(frozen=True)
class Latency:
    """Seconds."""

    p50: float
    p99: float
    worst: float

    @classmethod
    def between(cls, ends: dict[str, float], seen: dict[str, float]) -> Latency:
        """Return how long after each run's end it was seen."""
        waits = sorted(seen[run] - end for run, end in ends.items())
        cuts = quantiles(waits, n=100, method="inclusive")
        return cls(cuts[49], cuts[98], waits[-1])

    def __str__(self) -> str:
        return f"p50 {self.p50:.3f} s, p99 {self.p99:.3f} s, worst {self.worst:.3f} s"


def sustained_rate(moments: list[float]) -> float:
    """Return how many a second, over the middle 80 % of them."""
    ordered = sorted(moments)
    first, last = len(ordered) // 10, len(ordered) * 9 // 10
    return (last - first) / (ordered[last] - ordered[first])


def read_ends(path: Path, benchmark: str) -> list[Object]:
    """Return the executor's account of a benchmark's jobs."""
    ends: list[Object] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [end for end in ends if end["run"].startswith(f"{benchmark}-")]
