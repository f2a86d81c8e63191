"""What each attempt's pod is given. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.enums import DeviceKind
from gpubench.api.run_spec import Limits, RunIdentity, RunSpec
from gpubench.backends import JobRequest, PodSettings
from gpubench.backends.pod_template import DATA_MOUNT, cores_of, training_device
from gpubench.sweep.plan import Plan, Run


@dataclass(frozen=True)
class JobRequestBuilder:
    """Builds the job requests of one benchmark."""

    benchmark: GPUBenchmark
    uid: str
    settings: PodSettings
    most_ranks: int

    @classmethod
    def for_plan(
        cls, benchmark: GPUBenchmark, uid: str, plan: Plan, settings: PodSettings
    ) -> JobRequestBuilder:
        """Return the builder for the runs of a benchmark's plan."""
        most_ranks = max((run.point.gpus for run in plan.runs), default=1)
        return cls(benchmark, uid, settings, most_ranks)

    @property
    def image(self) -> str:
        """The image of the workload: the benchmark's, else the operator's."""
        spec = self.benchmark.spec
        return spec.execution.image or self.settings.images[spec.workload.kind]

    def build(self, run: Run, run_uid: str, attempt: int) -> JobRequest:
        """Return what the job of an attempt is made from."""
        namespace = self.benchmark.metadata.namespace
        assert namespace is not None
        spec = self.benchmark.spec
        return JobRequest(
            namespace=namespace,
            benchmark=self.benchmark.name,
            benchmark_uid=self.uid,
            run_uid=run_uid,
            spec=self._run_spec(run, attempt),
            execution=spec.execution,
            results=spec.results,
            settings=self.settings,
        )

    def _run_spec(self, run: Run, attempt: int) -> RunSpec:
        spec = self.benchmark.spec
        device = training_device(spec.execution, self.settings)
        return RunSpec(
            identity=RunIdentity(
                benchmark=self.benchmark.name,
                run=run.name,
                point_hash=run.point.point_hash,
                repetition=run.repetition,
                attempt=attempt,
            ),
            workload=run.point.workload,
            gpus=run.point.gpus,
            device=device,
            threads_per_rank=self._threads_per_rank() if device is DeviceKind.CPU else None,
            data_root=DATA_MOUNT,
            profiling=spec.profiling,
            acceptance=spec.results.acceptance,
            limits=Limits(
                timeout_seconds=spec.execution.timeout_seconds,
                no_progress_seconds=spec.execution.no_progress_seconds,
            ),
        )

    def _threads_per_rank(self) -> int:
        """Return the same number for all runs: a rank stands for a device of constant speed."""
        cpu = self.benchmark.spec.execution.resources.cpu
        return 1 if cpu is None else max(int(cores_of(cpu)) // self.most_ranks, 1)
