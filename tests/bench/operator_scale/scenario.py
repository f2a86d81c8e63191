"""What is done to the operator, one stage after the other, and what is measured of it."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.operator_scale.api import BENCHMARKS, JOBS, OURS, PODS, RUNS, Api, Object
from tests.bench.operator_scale.control_plane import PROGRAMS, ControlPlane, control_plane
from tests.bench.operator_scale.observation import (
    Latency,
    Observation,
    observing,
    read_ends,
    sustained_rate,
)
from tests.bench.operator_scale.programs import OperatorProcess, cpu_seconds, executing, prefer
from tests.bench.operator_scale.sweeps import make_benchmark, make_finished_runs, make_node
from tests.bench.operator_scale.writes import count_writes, measure_ceiling

GPUS = 512


@dataclass(frozen=True)
class Plan:
    """How much of everything; the defaults are the bench, a person may ask for less."""

    parallelism: int = 64
    calm_parallelism: int = 4
    yardstick_attempts: int = 250
    idle_seconds: float = 60
    many_runs: int = 10_000
    stages: frozenset[str] = frozenset({"kill", "many"})
    nice: int = 0
    """Below 0 (root only): before what else runs on this machine."""


@dataclass
class Report:
    """What came out. Megabytes are of resident memory."""

    lines: list[str] = field(default_factory=list)
    ceiling: float = 0.0
    jobs_per_second: float = 0.0
    writes_per_second: float = 0.0
    busy: tuple[Latency, Latency] | None = None
    """From a job's end to its run's status, and to the benchmark's, under full load."""
    calm: tuple[Latency, Latency] | None = None
    """The same with few jobs at a time."""
    megabytes: dict[int, float] = field(default_factory=dict)
    idle_share: float | None = None
    repeated: int = 0
    lost: int = 0

    def say(self, line: str) -> None:
        """Keep a line, and print it with the load of the machine at this moment."""
        load = os.getloadavg()[0]
        self.lines.append(f"{line}  [load {load:.1f}]")
        print(self.lines[-1], flush=True)


class Scenario:
    """One control plane, one executor, one operator."""

    def __init__(self, plan: Plan, plane: ControlPlane, api: Api, ends: Path) -> None:
        self._plan = plan
        self._plane = plane
        self._api = api
        self._ends = ends
        settings = {"httpPort": _free_port(), "maxGpus": GPUS, "simulatedGpus": True}
        images = {"imageRecognition": "bench", "llmTuning": "bench"}
        self.operator = OperatorProcess(plane, {**settings, "images": images, "leaseSeconds": 5})
        self.report = Report()

    async def run(self) -> Report:
        await make_node(self._api, GPUS)
        self.operator.start()
        await self._warm_up()
        await self._measure_sweep()
        await self._measure_calm_sweep()
        if "kill" in self._plan.stages:
            await self._kill_in_the_middle()
        if "many" in self._plan.stages:
            await self._measure_many()
        return self.report

    async def _warm_up(self) -> None:
        """Run a few points, and take what they leave as the pattern of the yardstick."""
        manifest = make_benchmark("warm", {"seed": [1, 2, 3, 4]}, parallelism=1, cleanup="Never")
        await self._complete(manifest, 4)
        self.report.megabytes[0] = self.operator.resident_megabytes
        self.report.say(f"operator at rest: {self.report.megabytes[0]:.0f} MB")
        runs, _ = await self._api.list(RUNS, OURS)
        jobs, _ = await self._api.list(JOBS, OURS)
        attempts = self._plan.yardstick_attempts
        self.report.ceiling = await measure_ceiling(self._api, runs[0], jobs[0], attempts)
        self.report.say(
            f"yardstick: the API server takes {self.report.ceiling:.0f} writes/s of the same kinds"
        )

    def _cpu_seconds(self) -> dict[str, float]:
        programs = {name: cpu_seconds(self._plane.pid(name)) for name in PROGRAMS}
        return {"operator": self.operator.cpu_seconds, **programs}

    async def _complete(
        self, manifest: Object, total: int, midway: Callable[[Observation], Any] | None = None
    ) -> Observation:
        async with observing(self._api, manifest["metadata"]["name"]) as observation:
            await self._api.request("POST", BENCHMARKS, manifest)
            if midway is not None:
                await midway(observation)
            await observation.until(
                "the end of the sweep",
                lambda: observation.status.get("phase") == "Completed",
                seconds=60 + total / 4,
            )
            return observation

    async def _measure_sweep(self) -> None:
        matrix = {"seed": list(range(1, 51)), "epochs": list(range(1, 21))}
        manifest = make_benchmark("sweep", matrix, parallelism=self._plan.parallelism)
        before, cpu, started = await count_writes(self._api), self._cpu_seconds(), time.time()
        sweep = await self._complete(manifest, 1000)
        seconds = time.time() - started
        cpu = {name: after - cpu[name] for name, after in self._cpu_seconds().items()}
        await self._until_no_jobs("sweep")
        writes = await count_writes(self._api) - before
        self._tell_rates(sweep)
        self._tell_writes(writes, len(sweep.recorded_at))
        self.report.busy = self._tell_latencies(sweep)
        shares = ", ".join(
            f"{name} {spent:.2f} ms a job ({spent / seconds:.0%} of a core)"
            for name, spent in cpu.items()
        )
        self.report.say(f"processor time over {seconds:.1f} s: {shares}")
        self.report.megabytes[1000] = self.operator.resident_megabytes
        self.report.say(f"operator after 1,000 runs: {self.report.megabytes[1000]:.0f} MB")

    def _tell_rates(self, sweep: Observation) -> None:
        created = sorted(sweep.created_at.values())
        self.report.say(
            f"runs created: {len(created)}, {len(created) / (created[-1] - created[0]):.0f}/s"
        )
        self.report.jobs_per_second = sustained_rate(list(sweep.recorded_at.values()))
        self.report.say(
            f"jobs: {self.report.jobs_per_second:.1f}/s sustained over the middle 80 %, "
            f"{self._plan.parallelism} at a time"
        )

    def _tell_writes(self, writes: Counter[str], jobs: int) -> None:
        per_job = writes.total() / jobs
        # Runs are created before the first job starts.
        in_steady_state = per_job - writes["POST gpubenchmarkruns"] / jobs
        self.report.writes_per_second = in_steady_state * self.report.jobs_per_second
        share = self.report.writes_per_second / self.report.ceiling
        details = ", ".join(f"{what} {n / jobs:.2f}" for what, n in writes.most_common())
        self.report.say(f"writes per job: {per_job:.2f} ({details})")
        self.report.say(
            f"writes: {self.report.writes_per_second:.0f}/s, {share:.0%} of the yardstick"
        )

    def _tell_latencies(self, sweep: Observation) -> tuple[Latency, Latency]:
        ends = {end["run"]: end["ended_at"] for end in read_ends(self._ends, sweep.benchmark)}
        to_run = Latency.between(ends, sweep.recorded_at)
        to_benchmark = Latency.between(ends, sweep.counted_at())
        self.report.say(f"  job's end to its run's status: {to_run}")
        self.report.say(f"  job's end to the benchmark's status that counts it: {to_benchmark}")
        return to_run, to_benchmark

    async def _measure_calm_sweep(self) -> None:
        """See how soon the operator tells when the API server has time."""
        matrix = {"seed": list(range(1, 21)), "epochs": list(range(1, 11))}
        manifest = make_benchmark("calm", matrix, parallelism=self._plan.calm_parallelism)
        calm = await self._complete(manifest, 200)
        rate = sustained_rate(list(calm.recorded_at.values()))
        self.report.say(f"{self._plan.calm_parallelism} at a time: {rate:.1f} jobs/s")
        self.report.calm = self._tell_latencies(calm)

    async def _until_no_jobs(self, benchmark: str) -> None:
        selector = f"{OURS},gpubench.io/benchmark={benchmark}"
        async with asyncio.timeout(60):
            while (await self._api.list(PODS, selector))[0]:
                await asyncio.sleep(0.2)

    async def _kill_in_the_middle(self) -> None:
        async def kill(observation: Observation) -> None:
            await observation.until(
                "half of the sweep", lambda: len(observation.recorded_at) >= total // 2, 120
            )
            self.operator.kill()
            self.operator.start()

        total = 400
        matrix = {"seed": list(range(1, 41)), "epochs": list(range(1, 11))}
        manifest = make_benchmark("killed", matrix, parallelism=self._plan.parallelism)
        await self._complete(manifest, total, kill)
        await self._until_no_jobs("killed")
        ends = read_ends(self._ends, "killed")
        runs, _ = await self._api.list(RUNS, f"{OURS},gpubench.io/benchmark=killed")
        whole = [run for run in runs if run["status"].get("result")]
        tries = Counter(end["run"] for end in ends)
        self.report.repeated = sum(count - 1 for count in tries.values())
        self.report.repeated += sum(len(run["status"]["attempts"]) - 1 for run in runs)
        self.report.lost = total - len(whole)
        self.report.say(
            f"killed -9 halfway through {total} points: {self.report.repeated} run twice, "
            f"{self.report.lost} without a result"
        )

    async def _measure_many(self) -> None:
        """Let it look after 10,000 finished runs, and do nothing."""
        self.operator.stop()
        left = len((await self._api.list(RUNS, OURS))[0])
        points = self._plan.many_runs - left
        seeds = list(range(1, -(-points // 200) + 1))
        matrix = {"seed": seeds, "epochs": list(range(1, 51)), "gpus": [1, 2, 3, 4]}
        manifest = make_benchmark("many", matrix, parallelism=1)
        made = await make_finished_runs(self._api, manifest)
        async with observing(self._api, "many") as observation:
            started = time.monotonic()
            self.operator.start()
            await observation.until(
                "the recount", lambda: observation.status.get("phase") == "Completed", 120
            )
        total = left + made
        self.report.say(f"{total} runs taken over after {time.monotonic() - started:.1f} s")
        await asyncio.sleep(10)
        before = self.operator.cpu_seconds
        await asyncio.sleep(self._plan.idle_seconds)
        share = (self.operator.cpu_seconds - before) / self._plan.idle_seconds
        self.report.idle_share = share
        self.report.megabytes[10_000] = self.operator.resident_megabytes
        self.report.say(f"operator with {total} runs: {self.report.megabytes[10_000]:.0f} MB")
        self.report.say(f"idle over {self._plan.idle_seconds:.0f} s: {share:.2%} of a core")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def run_scenario(plan: Plan) -> Report:
    """Run all stages; everything that was started is ended."""
    with tempfile.TemporaryDirectory(prefix="gpubench-scale-") as name:
        folder = Path(name)
        ends = folder / "ends.jsonl"
        ends.touch()
        with control_plane(folder) as plane, executing(plane, ends):
            prefer(plan.nice, [os.getpid(), *map(plane.pid, PROGRAMS)])
            return asyncio.run(_run(plan, plane, ends))


async def _run(plan: Plan, plane: ControlPlane, ends: Path) -> Report:
    async with Api.connect(plane) as api:
        scenario = Scenario(plan, plane, api, ends)
        try:
            return await scenario.run()
        except TimeoutError:
            print(scenario.operator.log.read_text("utf-8")[-5000:])
            raise
        finally:
            scenario.operator.stop()
