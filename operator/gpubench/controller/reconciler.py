"""One benchmark, again and again: observe, decide, apply, tell.

Every step starts from what the API server holds, so that it does not matter where the last one
was cut off. What is decided is written before it can be forgotten: a result is in its run's
status before its job is deleted, and a job has the name that its run and attempt give it, so that
it cannot be made twice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpubench.api.enums import AttemptState, Cleanup
from gpubench.backends import BACKENDS, JobState, PodState
from gpubench.controller.announcements import Announcer
from gpubench.controller.cache import BenchmarkCache, ClusterCache
from gpubench.controller.capacity import NOTHING, Room, Usage, room_for
from gpubench.controller.children import Children
from gpubench.controller.circumstances import Circumstances
from gpubench.controller.client import ApiError, KubernetesClient
from gpubench.controller.health import Health
from gpubench.controller.observer import (
    RunView,
    finished_jobs,
    has_ended,
    jobs_of,
    started,
    stopped,
    view_run,
    waiting_jobs,
    with_telemetry,
)
from gpubench.controller.obstacles import find_obstacles, too_large
from gpubench.controller.outdated import outdated_attempts
from gpubench.controller.planning import Assignment, Rejection, read_assignment, read_status
from gpubench.controller.run_statuses import SETTLE_SECONDS, RunStatuses
from gpubench.controller.settings import OperatorSettings
from gpubench.controller.together import together
from gpubench.lifecycle import (
    Capacity,
    Observation,
    Obstacle,
    StartAttempt,
    StopAttempt,
    decide,
    is_worth_writing,
    make_rejected_status,
    make_status,
    run_state,
    summarize,
)

IDLE_SECONDS = 60.0
RECOUNT_SECONDS = 300.0
"""After this long everything is looked at again, whether anything was heard or not."""
OBSTACLE_SECONDS = 5.0
"""What could not be started is tried again after this long."""
RENEWAL_SECONDS = 30.0
"""A job that was refused a pod is made anew after this long."""
NAME_SECONDS = 2.0
"""A run whose name another one still has is made again after this long."""
LOOK_AGAIN_SECONDS = 1.0
OTHERS_SECONDS = 60.0
"""For so long a benchmark waits to be told what others use, before it uses anything."""

logger = logging.getLogger(__name__)


class BenchmarkReconciler:
    """Brings one benchmark nearer to its end with every call."""

    def __init__(
        self,
        cache: BenchmarkCache,
        cluster: ClusterCache,
        client: KubernetesClient,
        settings: OperatorSettings,
        announcer: Announcer,
        health: Health,
    ) -> None:
        assert cache.body is not None
        metadata = cache.body["metadata"]
        self.namespace: str = metadata["namespace"]
        self.name: str = metadata["name"]
        self.uid: str = metadata["uid"]
        self._cache = cache
        self._cluster = cluster
        self._settings = settings
        self._announcer = announcer
        self._health = health
        self.children = Children(cache, client, self.namespace, self.name, self.uid)
        self._statuses = RunStatuses(cache, self.children, announcer, self.namespace)
        self._circumstances = Circumstances(client, self.namespace)
        self._assignment: Assignment | Rejection | None = None
        self._views: dict[str, RunView] = {}
        self._judged: set[str] = set()
        """Uids of jobs that are as the present spec asks."""
        self._obstacles: list[Obstacle] = []
        self._recounted_at = 0.0
        self._decided_at = 0.0
        self._has_held = False
        self._began_at = time.time()

    async def reconcile(self) -> float:
        """Do what is to be done now; return in how many seconds to come again unless woken.

        Raises:
            ApiError: the API server refused something that it should not have, or is away.
        """
        assignment = await self._read_assignment()
        if isinstance(assignment, Rejection):
            await self._reject(assignment)
            return IDLE_SECONDS
        obstacles = await self._make_runs(assignment)
        await self._observe(assignment)
        room = self._room(assignment)
        starts = self._decide(assignment, room.capacity)
        obstacles += await self._apply(assignment, starts)
        await together([self._tell(assignment, room, obstacles), self._clean_up(assignment)])
        return self._seconds_to_wait(assignment)

    async def _read_assignment(self) -> Assignment | Rejection:
        body = self._cache.body
        assert body is not None
        known = self._assignment
        if known is None or known.generation != body["metadata"]["generation"]:
            known = await asyncio.to_thread(read_assignment, body, self._settings)
            self._assignment = known
            self._views = {}
            self._statuses.forget_all()
            self._judged.clear()
        return known

    async def _reject(self, rejection: Rejection) -> None:
        """Stop what an earlier spec has started, and say why nothing runs."""
        assert self._cache.body is not None
        for record in list(self._cache.runs.values()):
            for job, _ in waiting_jobs(self._cache, record):
                await self.children.delete_job(job)
        if self._cluster.usage.get(self.uid) != NOTHING:
            self._cluster.usage[self.uid] = NOTHING
            self._cluster.wake_all()
        previous = read_status(self._cache.body)
        status = make_rejected_status(
            rejection.reason, rejection.message, rejection.generation, previous, time.time()
        )
        if is_worth_writing(status, previous):
            await self.children.write_status(status)
            await self._announcer.status_changed(self._cache.body, previous, status)

    async def _make_runs(self, assignment: Assignment) -> list[Obstacle]:
        """Make and delete runs as the spec says; return what stands in the way of some."""
        missing = [run for name, run in assignment.runs.items() if name not in self._cache.runs]
        obstacles = await self.children.create_runs(missing, assignment.requests.image)
        unwanted = [r for name, r in self._cache.runs.items() if name not in assignment.runs]
        for record in unwanted:
            has_result = any(a.state is AttemptState.SUCCEEDED for a in record.status.attempts)
            if not has_result and not record.deleting:
                await self.children.delete_run(record)
        return obstacles[:1]

    async def _observe(self, assignment: Assignment) -> None:
        """Look again at runs of which something was heard, and now and then at all."""
        now = time.time()
        if now - self._recounted_at > RECOUNT_SECONDS:
            if self._recounted_at:
                self._health.relisted(self.uid, await self.children.load())
            self._cache.changed.update(assignment.runs)
            self._recounted_at = now
        changed = self._cache.changed & assignment.runs.keys()
        changed |= assignment.runs.keys() - self._views.keys()
        self._cache.changed.clear()
        try:
            await self.children.resolve_doubts(changed)
        except ApiError:
            self._cache.changed |= changed
            raise
        for name in changed:
            self._set_view(name, self._view(assignment, name))
        for name in self._views.keys() - assignment.runs.keys():
            del self._views[name]
            self._statuses.forget(name)

    def _set_view(self, name: str, view: RunView) -> None:
        self._views[name] = view
        self._statuses.changed(name, time.time())

    def _view(self, assignment: Assignment, name: str) -> RunView:
        rules = assignment.benchmark.spec.results.acceptance
        record = self._cache.runs.get(name)
        view = view_run(assignment.runs[name], record, self._cache, rules, time.time())
        return with_telemetry(view, record, self._cluster.telemetry, rules)

    def _room(self, assignment: Assignment) -> Room:
        others = [usage for uid, usage in self._cluster.usage.items() if uid != self.uid]
        room = room_for(
            assignment.demand,
            self._cluster.nodes.values(),
            others,
            self._settings.max_gpus,
            nodes_are_known=self._settings.watch_nodes,
        )
        return replace(room, capacity=Capacity(0, 0)) if self._must_wait_for_others() else room

    def _must_wait_for_others(self) -> bool:
        """Tell whether it is not known yet what others use, as after a start of the operator."""
        is_new = time.time() - self._began_at < OTHERS_SECONDS
        return is_new and not self._cluster.knows_usage_beside(self.uid)

    def _decide(self, assignment: Assignment, capacity: Capacity) -> list[StartAttempt]:
        """Take over what is to be stopped; return what is to be started."""
        views = self._ordered(assignment)
        for old in outdated_attempts(assignment, views, self._cache, self._judged):
            self._set_view(old.run, stopped(self._views[old.run], old, time.time()))
        views = self._ordered(assignment)
        runs = [view.run for view in views]
        held = {view.run.name: view.run.gpus for view in views if self._runs_on(view)}
        self._has_held = bool(held)
        free = Capacity(capacity.gpus - sum(held.values()), capacity.nodes - len(held))
        self._decided_at = time.time()
        decisions = decide(assignment.policy, runs, free, self._decided_at)
        startable = self._cache.runs.keys() - held.keys()
        starts = [d for d in decisions if isinstance(d, StartAttempt) and d.run in startable]
        live = [view.run.gpus for view in views if view.run.live is not None]
        self._publish_usage(assignment, [*held.values(), *live, *(s.gpus for s in starts)])
        for stop in decisions:
            if isinstance(stop, StopAttempt):
                # Its job is deleted once this is recorded; the other way round a crash in between
                # would lose the reason.
                self._set_view(stop.run, stopped(self._views[stop.run], stop, time.time()))
        return starts

    async def _apply(
        self, assignment: Assignment, starts: Iterable[StartAttempt]
    ) -> list[Obstacle]:
        """Record and start, side by side; return what kept some from being started."""
        # What has ended comes first: somebody waits for it.
        now = time.time()
        due = self._statuses.due(self._views, now)
        records = [self._statuses.write(self._views[name], assignment, now) for name in due]
        results = await together([*records, *(self._start(assignment, s) for s in starts)])
        found = {obstacle.reason: obstacle for obstacle in results if obstacle is not None}
        if found:
            # What could not be started uses nothing. Others find that out by themselves: woken, two
            # that cannot start would wake each other for ever.
            views = self._ordered(assignment)
            using = [v.run.gpus for v in views if v.run.live is not None or self._runs_on(v)]
            self._cluster.usage[self.uid] = self._usage(assignment, using)
        return list(found.values())

    def _ordered(self, assignment: Assignment) -> list[RunView]:
        return [self._views[name] for name in assignment.runs]

    def _runs_on(self, view: RunView) -> bool:
        """Tell whether a run has a job that is alive though its attempt is given up."""
        record, jobs = self._cache.runs.get(view.run.name), self._cache.jobs.get(view.run.name)
        if record is None or not jobs:
            return False
        over = {a.number for a in view.run.attempts if a.state is AttemptState.FAILED}
        return any(
            job.attempt in over and not job.deleting and not has_ended(job, self._cache.pod_of(job))
            for job in jobs_of(self._cache, record)
        )

    def _publish_usage(self, assignment: Assignment, sizes: Sequence[int]) -> None:
        """Tell the other benchmarks what this one uses, before anything is awaited."""
        before = self._cluster.usage.get(self.uid)
        self._cluster.usage[self.uid] = self._usage(assignment, sizes)
        if before is not None and sum(sizes) < before.slots:
            self._cluster.wake_all()

    def _usage(self, assignment: Assignment, sizes: Sequence[int]) -> Usage:
        return Usage(
            resource=assignment.demand.resource,
            slots=sum(sizes),
            runs=len(sizes),
            exclusive=assignment.demand.isolation == "ExclusiveNode",
        )

    async def _start(self, assignment: Assignment, start: StartAttempt) -> Obstacle | None:
        record = self._cache.runs.get(start.run)
        if record is None:
            return None
        request = assignment.requests.build(assignment.runs[start.run], record.uid, start.attempt)
        backend = BACKENDS[assignment.benchmark.spec.execution.backend]
        job = await self.children.create_job(backend, request)
        if isinstance(job, Obstacle):
            return job
        self._judged.add(job.uid)
        self._set_view(start.run, started(self._views[start.run], job))
        self._cache.changed.add(start.run)
        return None

    async def _renew(self, assignment: Assignment, refused: list[JobState], now: float) -> None:
        backend = BACKENDS[assignment.benchmark.spec.execution.backend]
        for job in refused:
            if now - job.created_at >= RENEWAL_SECONDS and job.run in assignment.runs:
                run = assignment.runs[job.run]
                request = assignment.requests.build(run, job.run_uid, job.attempt)
                await self.children.renew_job(backend, request, job)

    async def _clean_up(self, assignment: Assignment) -> None:
        """Delete jobs of recorded attempts: those as the spec says, and all that still run."""
        cleanup = assignment.benchmark.spec.execution.cleanup
        done = [
            job
            for name, jobs in self._cache.jobs.items()
            if jobs and (record := self._cache.runs.get(name)) is not None
            for job, state in finished_jobs(self._cache, record)
            if cleanup is Cleanup.ALWAYS
            or (cleanup is Cleanup.ON_SUCCESS and state is AttemptState.SUCCEEDED)
            or (state is AttemptState.FAILED and not has_ended(job, self._cache.pod_of(job)))
        ]
        await together(self.children.delete_job(job) for job in done)
        if done and self._has_held:
            # Their runs may start again, and nothing else will tell.
            self._cache.wake.set()

    async def _tell(self, assignment: Assignment, room: Room, obstacles: list[Obstacle]) -> None:
        """Write the benchmark's status, with all that stands in the way of runs."""
        assert self._cache.body is not None
        now = time.time()
        views = self._ordered(assignment)
        unfinished = [
            assignment.runs[v.run.name]
            for v in views
            if not run_state(v.run, assignment.policy).is_finished
        ]
        seen = [too_large(unfinished, room.largest_run, assignment.demand.resource), *obstacles]
        waiting = [
            pair
            for view in views
            if view.run.live is not None and view.run.live.state is AttemptState.PENDING
            for pair in self._waiting_jobs(view.run.name)
        ]
        told = await self._circumstances.explain(waiting, now)
        await self._renew(assignment, [job for job, _ in waiting if job.uid in told], now)
        seen.append(await self._circumstances.missing_queue(assignment, waiting))
        seen += find_obstacles(waiting, told, now)
        seen.append(await self._circumstances.missing_baseline(assignment))
        self._obstacles = [obstacle for obstacle in seen if obstacle is not None]
        observation = Observation(
            summary=summarize(assignment.policy, [view.run for view in views], now),
            generation=assignment.generation,
            obstacles=self._obstacles,
        )
        previous = read_status(self._cache.body)
        status = make_status(observation, previous, now)
        if is_worth_writing(status, previous):
            await self.children.write_status(status)
            await self._announcer.status_changed(self._cache.body, previous, status)

    def _waiting_jobs(self, name: str) -> list[tuple[JobState, PodState | None]]:
        record = self._cache.runs.get(name)
        return [] if record is None else waiting_jobs(self._cache, record)

    def _seconds_to_wait(self, assignment: Assignment) -> float:
        """Return when time alone will make something to do."""
        now = time.time()
        moments = [IDLE_SECONDS]
        if self._obstacles:
            moments.append(OBSTACLE_SECONDS)
        if assignment.runs.keys() - self._cache.runs.keys():
            moments.append(NAME_SECONDS)
        if self._must_wait_for_others():
            moments.append(LOOK_AGAIN_SECONDS)
        if self._statuses.are_waiting:
            moments.append(SETTLE_SECONDS)
        for view in self._views.values():
            live = view.run.live
            if live is not None and live.state is AttemptState.PENDING:
                moments.append(OBSTACLE_SECONDS)
            state = run_state(view.run, assignment.policy)
            if state.ready_at is not None and state.ready_at > self._decided_at:
                moments.append(max(state.ready_at - now, 0.2))
            elif state.ready_at is not None:
                # It waits for room, of which others mostly tell.
                moments.append(OBSTACLE_SECONDS)
        return min(moments)
