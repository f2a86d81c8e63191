"""A benchmark's runs, jobs and pods on the API server: listing, making, writing, deleting."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from typing import Any

from gpubench.api.base import API_GROUP_VERSION
from gpubench.api.benchmark import GPUBenchmarkStatus
from gpubench.api.run import GPUBenchmarkRunSpec, GPUBenchmarkRunStatus, RunParameters
from gpubench.backends import (
    ATTEMPT_LABEL,
    BENCHMARK_UID_LABEL,
    IMAGE_ANNOTATION,
    RUN_LABEL,
    JobBackend,
    JobRequest,
    JobState,
    read_job,
)
from gpubench.backends.labels import run_labels
from gpubench.controller.cache import BenchmarkCache, RunRecord
from gpubench.controller.client import (
    BENCHMARKS,
    CONFLICT,
    JOB_TYPES,
    NOT_FOUND,
    PODS,
    RUNS,
    ApiError,
    KubernetesClient,
    ResourceType,
)
from gpubench.controller.observer import doubtful_jobs, missing_attempts
from gpubench.controller.obstacles import advice, refusal_reason
from gpubench.controller.together import together
from gpubench.lifecycle import Obstacle
from gpubench.sweep.names import job_name
from gpubench.sweep.plan import Run

FORBIDDEN = 403
REFUSED = (400, 422)

logger = logging.getLogger(__name__)

Doubt = JobState | tuple[str, int]
"""A job whose pod is looked for, or the run and attempt of a job that is."""


class Children:
    """Everything that belongs to one benchmark, and its own status."""

    def __init__(
        self,
        cache: BenchmarkCache,
        client: KubernetesClient,
        namespace: str,
        benchmark: str,
        benchmark_uid: str,
    ) -> None:
        self._cache = cache
        self._client = client
        self._namespace = namespace
        self._benchmark = benchmark
        self._uid = benchmark_uid

    async def load(self) -> int:
        """List all children; return how many changes there were that no watch had told of."""
        self._cache.forget_the_long_gone()
        return sum([await self._load(kind) for kind in (RUNS, PODS, *JOB_TYPES.values())])

    async def _load(self, kind: ResourceType) -> int:
        selector = f"{BENCHMARK_UID_LABEL}={self._uid}"
        gone, news = self._cache.uids(kind.kind), 0
        try:
            async for item in self._client.list(kind, self._namespace, label_selector=selector):
                gone.pop(item["metadata"]["uid"], None)
                news += self._cache.put(item)
        except ApiError as error:
            # A kind of job that is not installed here.
            if error.status != NOT_FOUND:
                raise
        self._cache.forget_all(kind.kind, gone)
        return news + len(gone)

    async def create_runs(self, runs: Iterable[Run], image: str) -> list[Obstacle]:
        """Make the objects of runs; one of ours that is there is taken as it is.

        Return what stands in the way of others.
        """
        made = await together(self._create_run(run, image) for run in runs)
        return [obstacle for obstacle in made if obstacle is not None]

    async def _create_run(self, run: Run, image: str) -> Obstacle | None:
        try:
            made = await self._client.create(RUNS, self._run_manifest(run, image))
        except ApiError as error:
            if error.status != CONFLICT:
                raise
            found = await self._client.get(RUNS, self._namespace, run.name)
            owners = found["metadata"].get("ownerReferences", []) if found else []
            if found is None or all(owner["uid"] != self._uid for owner in owners):
                # As after a benchmark was deleted and made again at once.
                return Obstacle(
                    "NameTaken",
                    f"GPUBenchmarkRun {run.name} is there and not of this benchmark; waiting until "
                    "it is gone, delete it if it does not go by itself",
                )
            made = found
        self._cache.put({"kind": RUNS.kind, **made})
        return None

    def _run_manifest(self, run: Run, image: str = "") -> dict[str, Any]:
        spec = GPUBenchmarkRunSpec(
            benchmark=self._benchmark,
            point_hash=run.point.point_hash,
            parameters=RunParameters(workload=run.point.workload, gpus=run.point.gpus),
            repetition=run.repetition,
        )
        owner = {
            "apiVersion": API_GROUP_VERSION,
            "kind": BENCHMARKS.kind,
            "name": self._benchmark,
            "uid": self._uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        return {
            "apiVersion": API_GROUP_VERSION,
            "kind": RUNS.kind,
            "metadata": {
                "name": run.name,
                "namespace": self._namespace,
                "labels": run_labels(self._benchmark, self._uid, run.name),
                "annotations": {IMAGE_ANNOTATION: image},
                "ownerReferences": [owner],
            },
            "spec": spec.to_json_dict(),
        }

    async def delete_run(self, record: RunRecord) -> None:
        """Delete a run that is no longer asked for."""
        await self._client.delete(RUNS, self._namespace, record.name, record.uid)

    async def renew_job(self, backend: JobBackend, request: JobRequest, job: JobState) -> None:
        """Make a job anew that got no pod: what makes pods tries it again ever more rarely."""
        await self.delete_job(job)
        await self.create_job(backend, request, job.active_since)

    async def create_job(
        self, backend: JobBackend, request: JobRequest, waiting_since: float | None = None
    ) -> JobState | Obstacle:
        """Make an attempt's job, or return why the cluster will not have it."""
        kind = JOB_TYPES[backend.kind]
        try:
            made = await self._client.create(kind, backend.make_job(request, waiting_since))
        except ApiError as error:
            if error.status != CONFLICT:
                return _obstacle(backend, error)
            found = await self._client.get(kind, self._namespace, request.name)
            if found is None:
                return Obstacle("NameTaken", f"{backend.kind} {request.name} is going; waiting")
            made = found
        job = read_job(backend, made)
        if job is None or job.run_uid != request.run_uid:
            return Obstacle(
                "NameTaken",
                f"{backend.kind} {request.name} is there and not this run's; waiting until it is "
                "gone, delete it if it does not go by itself",
            )
        self._cache.put({"kind": backend.kind, **made})
        return job

    async def delete_job(self, job: JobState) -> None:
        """Delete a job and its pod; the pod has its grace period to write its result."""
        await self._client.delete(JOB_TYPES[job.kind], self._namespace, job.name, job.uid)
        self._cache.forget_job(job)

    async def write_run_status(self, record: RunRecord, status: GPUBenchmarkRunStatus) -> None:
        """Write a run's status; a run that is gone has none."""
        try:
            written = await self._client.apply_status(
                RUNS, self._namespace, record.name, status.to_json_dict()
            )
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return
        self._cache.set_status(record.name, status, written["metadata"]["resourceVersion"])

    async def write_status(self, status: GPUBenchmarkStatus) -> None:
        """Write the benchmark's status."""
        try:
            written = await self._client.apply_status(
                BENCHMARKS, self._namespace, self._benchmark, status.to_json_dict()
            )
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            return
        self._cache.set_own_status(written)

    async def resolve_doubts(self, names: Collection[str]) -> None:
        """Ask the API server where what we heard does not fit together.

        Jobs and pods come by different watches, and a watch may be late: before an attempt is
        given up because its job or pod is gone, it is looked for.

        While the answer is awaited more is heard, so that what fitted together may not do so any
        more; afterwards there is no doubt that was not asked about.
        """
        asked: set[Doubt] = set()
        while doubts := self._doubts(names) - asked:
            for doubt in doubts:
                await self._ask(doubt)
            asked |= doubts

    def _doubts(self, names: Collection[str]) -> set[Doubt]:
        records = [self._cache.runs[name] for name in names if name in self._cache.runs]
        pods = {job for record in records for job in doubtful_jobs(self._cache, record)}
        jobs = {
            (record.name, attempt)
            for record in records
            for attempt in missing_attempts(self._cache, record)
        }
        return pods | jobs

    async def _ask(self, doubt: Doubt) -> None:
        if isinstance(doubt, JobState):
            await self._load_pods(doubt)
        else:
            await self._load_job(*doubt)

    async def _load_pods(self, job: JobState) -> None:
        selector = f"{RUN_LABEL}={job.run},{ATTEMPT_LABEL}={job.attempt}"
        async for pod in self._client.list(PODS, self._namespace, label_selector=selector):
            self._cache.put(pod)

    async def _load_job(self, run: str, attempt: int) -> None:
        for kind in JOB_TYPES.values():
            found = await self._client.get(kind, self._namespace, job_name(run, attempt))
            if found is not None:
                self._cache.put({"kind": kind.kind, **found})

    async def delete_all_jobs(self) -> None:
        """Delete the jobs of all runs."""
        jobs = [job for jobs in self._cache.jobs.values() for job in jobs.values()]
        await together(self.delete_job(job) for job in jobs)


def _obstacle(backend: JobBackend, error: ApiError) -> Obstacle:
    """Return why a job cannot be made and what to do, or raise what is no one's to mend.

    Raises:
        ApiError: the API server is away or overloaded.
    """
    if error.status == NOT_FOUND:
        return Obstacle(
            "BackendMissing",
            f"the cluster has no {backend.kind} ({backend.api_version}): install what runs it, or "
            "choose another execution.backend",
        )
    if error.status == FORBIDDEN:
        reason = refusal_reason(str(error)) or "JobForbidden"
        return Obstacle(reason, f"{backend.kind} cannot be created: {error}{advice(str(error))}")
    if error.status in REFUSED:
        return Obstacle("JobRefused", f"{backend.kind} was refused: {error}")
    if "failed calling webhook" in str(error):
        return Obstacle(
            "BackendNotReady",
            f"{backend.kind} cannot be checked: {error}; does what runs {backend.kind}s run?",
        )
    raise error
