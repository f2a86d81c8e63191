"""What jobs and pods do not tell of why nothing starts: the API server is asked for it."""

from __future__ import annotations

from collections.abc import Iterable

from gpubench.backends import JobPhase, JobState, PodState
from gpubench.controller.client import BENCHMARKS, EVENTS, LOCAL_QUEUES, KubernetesClient
from gpubench.controller.obstacles import is_overdue_without_pod
from gpubench.controller.planning import Assignment
from gpubench.lifecycle import Obstacle

MOST_ASKED_FOR = 3
"""Jobs whose events are read: what keeps many from starting keeps each of them."""

Waiting = Iterable[tuple[JobState, PodState | None]]


class Circumstances:
    """The surroundings of one benchmark's jobs."""

    def __init__(self, client: KubernetesClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._told: dict[str, str] = {}

    async def explain(self, waiting: Waiting, now: float) -> dict[str, str]:
        """Return, by uid, what was told last of jobs that should have a pod and have none."""
        jobs = [job for job, pod in waiting if is_overdue_without_pod(job, pod, now)]
        asked = sorted(jobs, key=lambda job: job.created_at)[:MOST_ASKED_FOR]
        heard = {job.name: await self._last_warning(job) for job in asked}
        # One that was just made anew was told nothing of yet.
        told = {job.name: heard.get(job.name) or self._told.get(job.name, "") for job in jobs}
        self._told = {name: text for name, text in told.items() if text}
        return {job.uid: self._told[job.name] for job in jobs if job.name in self._told}

    async def _last_warning(self, job: JobState) -> str:
        selector = f"involvedObject.uid={job.uid},type=Warning"
        events = [
            event
            async for event in self._client.list(EVENTS, self._namespace, field_selector=selector)
        ]
        latest = max(events, key=lambda event: event.get("lastTimestamp") or "", default={})
        return str(latest.get("message") or latest.get("reason") or "")

    async def missing_queue(self, assignment: Assignment, waiting: Waiting) -> Obstacle | None:
        """Tell of a queue that nobody will admit jobs from."""
        queue = assignment.benchmark.spec.execution.queue_name
        if queue is None or all(job.phase is not JobPhase.QUEUED for job, _ in waiting):
            return None
        if await self._client.get(LOCAL_QUEUES, self._namespace, queue) is not None:
            return None
        return Obstacle(
            "QueueMissing",
            f'execution.queueName: the namespace has no Kueue LocalQueue "{queue}", or Kueue is '
            "not installed; create the queue, or leave queueName out",
        )

    async def missing_baseline(self, assignment: Assignment) -> Obstacle | None:
        """Tell of a baseline that is not there; runs do not wait for it."""
        name = assignment.benchmark.spec.results.baseline
        if name is None or await self._client.get(BENCHMARKS, self._namespace, name) is not None:
            return None
        return Obstacle(
            "BaselineMissing",
            f'results.baseline: the namespace has no GPUBenchmark "{name}"; create it, or name '
            "another one; runs do not wait for it",
        )
