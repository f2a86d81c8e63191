"""What each run's process is given on this machine, and whether the machine can run it at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpubench.api.benchmark import GPUBenchmark, GPUBenchmarkSpec
from gpubench.api.enums import DeviceKind, Isolation, Strategy
from gpubench.api.errors import Problem, SpecError
from gpubench.api.run_spec import Limits, RunIdentity, RunSpec
from gpubench.local.devices import Machine
from gpubench.sweep.plan import Plan, Point, Run


@dataclass(frozen=True)
class RunSpecBuilder:
    """Builds run specs of one benchmark for one machine."""

    benchmark: str
    spec: GPUBenchmarkSpec
    machine: Machine
    data_root: Path
    threads_per_rank: int

    @classmethod
    def for_plan(
        cls, benchmark: GPUBenchmark, plan: Plan, machine: Machine, data_root: Path
    ) -> RunSpecBuilder:
        """Return the builder for the runs of a benchmark's plan."""
        return cls(
            benchmark=benchmark.name,
            spec=benchmark.spec,
            machine=machine,
            data_root=data_root.resolve(),
            threads_per_rank=_threads_per_rank(benchmark.spec, plan, machine),
        )

    def build(self, run: Run, attempt: int) -> RunSpec:
        """Return what an attempt's process is given."""
        execution = self.spec.execution
        on_cpu = self.machine.kind is DeviceKind.CPU
        return RunSpec(
            identity=RunIdentity(
                benchmark=self.benchmark,
                run=run.name,
                point_hash=run.point.point_hash,
                repetition=run.repetition,
                attempt=attempt,
            ),
            workload=run.point.workload,
            gpus=run.point.gpus,
            device=self.machine.kind,
            threads_per_rank=self.threads_per_rank if on_cpu else None,
            data_root=str(self.data_root),
            profiling=self.spec.profiling,
            acceptance=self.spec.results.acceptance,
            limits=Limits(
                timeout_seconds=execution.timeout_seconds,
                no_progress_seconds=execution.no_progress_seconds,
            ),
        )


def _threads_per_rank(spec: GPUBenchmarkSpec, plan: Plan, machine: Machine) -> int:
    """Return the same number for all runs: a rank stands for a device of constant speed.

    With as many threads as cores for one rank and half of them for two, a second rank would seem
    to bring nothing.
    """
    if spec.execution.isolation is Isolation.SHARED:
        return 1
    most_ranks = max((run.point.gpus for run in plan.runs), default=1)
    return max(machine.count // most_ranks, 1)


def check_fits(plan: Plan, machine: Machine) -> None:
    """Check that this machine can run every point.

    Raises:
        SpecError: one line for the points that need more devices than there are, and one for
            each strategy that makes no sense here.
    """
    points = plan.points
    problems = [*_device_problems(points, machine), *_strategy_problems(points, machine)]
    if problems:
        raise SpecError(problems)


def _device_problems(points: Sequence[Point], machine: Machine) -> list[Problem]:
    too_large = sorted({point.gpus for point in points if point.gpus > machine.count})
    if not too_large:
        return []
    values = ", ".join(str(gpus) for gpus in too_large)
    fitting = sorted({point.gpus for point in points if point.gpus <= machine.count}) or [1]
    advice = f"--set sweep.matrix.gpus={fitting}".replace(" ", "").replace("--set", "--set ")
    swept = len({point.gpus for point in points}) > 1
    path = "spec.sweep.matrix.gpus" if swept else "spec.gpus"
    if not swept:
        advice = "--set gpus=1"
    message = f"{values} asked for, but {machine.limit_sentence}; to run what fits: {advice}"
    return [Problem(path, message)]


def _strategy_problems(points: Sequence[Point], machine: Machine) -> list[Problem]:
    if machine.kind is not DeviceKind.CPU:
        return []
    senseless = [
        point
        for point in points
        if point.gpus > 1
        and point.workload.image_recognition is not None
        and point.workload.image_recognition.strategy is Strategy.DATA_PARALLEL
    ]
    if not senseless:
        return []
    gpus = ", ".join(str(count) for count in sorted({point.gpus for point in senseless}))
    message = (
        f"DataParallel with gpus {gpus} makes no sense on a CPU, where one process has no GPUs to "
        "spread over; allowed there: gpus 1, or DDP, DDP-RR, DDP-DS"
    )
    return [Problem("spec.workload.imageRecognition.strategy", message)]
