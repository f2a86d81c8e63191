"""Whatever fails and whenever: the laws that the operator keeps on a cluster.

The real reconciler works against an API server in memory whose watches lag, whose requests fail,
whose objects are deleted by hand, and it is killed and started again in between.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter, deque
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gpubench.api.benchmark import GPUBenchmark, GPUBenchmarkStatus
from gpubench.api.enums import AttemptState, BenchmarkPhase, Cleanup, Isolation
from gpubench.backends import ATTEMPT_LABEL
from gpubench.controller import reconciler as reconciler_module
from gpubench.controller.client import ApiError
from gpubench.lifecycle.observed import LIVE_STATES
from gpubench.sweep.expansion import expand
from tests.unit.controller.laws import check_recount, check_run, is_live, status_of
from tests.unit.controller.simulated_api import (
    BENCHMARK,
    JOB,
    NAMESPACE,
    POD,
    RUN,
    WATCHED,
    Clock,
    Death,
    Fault,
    Object,
    Script,
    SimulatedApi,
)
from tests.unit.controller.simulated_cluster import (
    GPUS_PER_NODE,
    End,
    SimulatedCluster,
    gpus_of,
    is_over,
    owner_uid,
    pod_name,
)
from tests.unit.controller.simulated_operator import SimulatedOperator

EXAMPLES = int(os.environ.get("GPUBENCH_FAULT_EXAMPLES", "60"))
"""Histories that are played; about ten take a second."""
NAMES = ("one", "two")
PICK = st.integers(0, 100)
SCRIPTS = st.builds(
    Script,
    fault=st.sampled_from(Fault),
    at=st.integers(1, 12),
    deliveries=st.lists(st.sampled_from(WATCHED), max_size=12).map(deque),
)
EDITS: dict[str, dict[str, Any]] = {
    "suspend": {"suspend": True},
    "resume": {"suspend": False},
    "more": {"sweep": {"matrix": {"gpus": [1, 3], "batchSize": [8, 16]}}},
    "fewer": {"sweep": {"matrix": {"gpus": [1]}}},
    "forbidden": {"execution": {"image": "example/of-others:1"}},
    "strict": {"results": {"acceptance": [{"metric": "accuracy", "atLeast": "0.99"}]}},
}


class OperatorOnACluster(RuleBasedStateMachine):
    """Plays the cluster, its users and its misfortunes."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(reconciler_module, "time", self.clock)
        self.api = SimulatedApi(self.clock)
        self.api.before_create = self.check_new_object
        self.cluster = SimulatedCluster(self.api, self.clock)
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda *_: None)
        self.histories: dict[str, dict[int, dict[str, Any]]] = {}
        self.results: dict[str, dict[str, Any]] = {}
        self.hung: set[str] = set()
        self.nodes = 0
        self.isolation = Isolation.SHARED

    @initialize(
        benchmarks=st.integers(1, 2),
        nodes=st.integers(1, 2),
        isolation=st.sampled_from(Isolation),
        parallelism=st.none() | st.integers(1, 2),
        retry_limit=st.integers(0, 2),
        backoff=st.sampled_from([0, 10]),
        failure_budget=st.none() | st.integers(0, 1),
        cleanup=st.sampled_from(Cleanup),
    )
    def begin(  # noqa: PLR0917 - hypothesis passes them by name
        self,
        benchmarks: int,
        nodes: int,
        isolation: Isolation,
        parallelism: int | None,
        retry_limit: int,
        backoff: int,
        failure_budget: int | None,
        cleanup: Cleanup,
    ) -> None:
        execution = {
            "isolation": isolation,
            "parallelism": parallelism,
            "retryLimit": retry_limit,
            "retryBackoffSeconds": backoff,
            "failureBudget": failure_budget,
            "cleanup": cleanup,
            "timeoutSeconds": 3000,
        }
        self.isolation, self.nodes = isolation, nodes
        self.spec: dict[str, Any] = {
            "workload": {"imageRecognition": {"dataset": {"name": "digits"}, "imageSize": 32}},
            "sweep": {"matrix": {"gpus": [1, 3]}},
            "execution": {k: v for k, v in execution.items() if v is not None},
        }
        for name in NAMES[:benchmarks]:
            self.make_benchmark(name)
        self.operator = SimulatedOperator(self.api, self.nodes)

    def make_benchmark(self, name: str) -> None:
        metadata = {"name": name, "namespace": NAMESPACE}
        self.api.create({"kind": BENCHMARK, "metadata": metadata, "spec": self.spec})

    def pick(self, kind: str, pick: int) -> Object | None:
        items = self.api.of_kind(kind)
        return items[pick % len(items)] if items else None

    # What the operator does.

    @rule(script=SCRIPTS)
    def operator_works(self, script: Script) -> None:
        try:
            self.loop.run_until_complete(self.operator.reconcile(script))
        except ApiError:
            pass
        except Death:
            self.operator_is_killed()

    @rule()
    def operator_works_undisturbed(self) -> None:
        self.operator.watches.deliver_all()
        self.operator_works(Script())

    @rule()
    def operator_is_killed(self) -> None:
        self.operator.client.is_dead = True
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.operator = SimulatedOperator(self.api, self.nodes)

    @rule(script=SCRIPTS, edit=st.none() | st.sampled_from(sorted(EDITS)), pick=PICK)
    def everything_goes_on(self, script: Script, edit: str | None, pick: int) -> None:
        """Runs get as far as they do without misfortune, then one strikes."""
        self.operator_works_undisturbed()
        self.cluster_works()
        self.pods_start()
        self.operator_works_undisturbed()
        if edit is not None:
            self.somebody_edits(pick, edit)
        self.operator.watches.deliver_all()
        self.operator_works(script)

    @rule(kind=st.sampled_from(WATCHED), count=st.integers(1, 5))
    def watch_tells(self, kind: str, count: int) -> None:
        self.operator.watches.deliver(kind, count)

    @rule(kind=st.sampled_from(WATCHED[1:]))
    def watch_breaks_and_begins_anew(self, kind: str) -> None:
        self.operator.watches.begin(kind)

    # What the cluster does.

    @rule(seconds=st.sampled_from([1.0, 15.0, 400.0, 4000.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def cluster_works(self) -> None:
        self.cluster.collect_garbage()
        self.cluster.run_job_controllers()

    @rule()
    def pods_that_were_deleted_are_gone(self) -> None:
        self.cluster.remove_ended_pods()

    @rule()
    def pods_start(self) -> None:
        for pod in self.api.of_kind(POD):
            if pod["status"]["phase"] == "Pending":
                self.cluster.start_pod(pod)

    @rule(pick=PICK, end=st.sampled_from(End))
    def pod_ends(self, pick: int, end: End) -> None:
        alive = self.pods_that_may_end()
        if alive:
            self.cluster.end_pod(alive[pick % len(alive)], end)

    @rule(pick=PICK)
    def pod_hangs(self, pick: int) -> None:
        """It does not end but by deletion."""
        pod = self.pick(POD, pick)
        if pod is not None:
            self.hung.add(pod["metadata"]["uid"])

    def pods_that_may_end(self) -> list[Object]:
        pods = self.api.of_kind(POD)
        return [p for p in pods if not is_over(p) and p["metadata"]["uid"] not in self.hung]

    # What people do.

    @rule(kind=st.sampled_from([RUN, JOB, POD]), pick=PICK)
    def somebody_deletes(self, kind: str, pick: int) -> None:
        item = self.pick(kind, pick)
        if item is not None:
            self.cluster.delete(item)

    @rule(pick=PICK, edit=st.sampled_from(sorted(EDITS)))
    def somebody_edits(self, pick: int, edit: str) -> None:
        benchmark = self.pick(BENCHMARK, pick)
        assert benchmark is not None
        execution = self.spec["execution"] | EDITS[edit].get("execution", {})
        spec = self.spec | EDITS[edit] | {"execution": execution}
        self.api.change(BENCHMARK, benchmark["metadata"]["name"], spec=spec)

    @rule(pick=PICK)
    def somebody_makes_a_benchmark_again(self, pick: int) -> None:
        """Deletes it, finalizer and all, and makes it anew before anything has noticed."""
        benchmark = self.pick(BENCHMARK, pick)
        assert benchmark is not None
        self.cluster.delete(benchmark)
        self.make_benchmark(benchmark["metadata"]["name"])

    # The laws.

    def check_new_object(self, item: Object) -> None:
        """No attempt is made again, and none of a run that has its result."""
        if item["kind"] != JOB:
            return
        self.check_jobs([*self.live_jobs(), item])
        for run in self.api.of_kind(RUN):
            if run["metadata"]["uid"] == owner_uid(item):
                attempts = status_of(run).attempts
                assert all(a.state is not AttemptState.SUCCEEDED for a in attempts)
                number = int(item["metadata"]["labels"][ATTEMPT_LABEL])
                over = [a.number for a in attempts if a.state not in LIVE_STATES]
                assert number not in over

    def live_jobs(self) -> list[Object]:
        """Return jobs that may still run; what is owned by nothing is on its way out."""
        benchmarks = {b["metadata"]["uid"] for b in self.api.of_kind(BENCHMARK)}
        runs = {
            run["metadata"]["uid"] for run in self.api.of_kind(RUN) if owner_uid(run) in benchmarks
        }
        return [
            job
            for job in self.api.of_kind(JOB)
            if owner_uid(job) in runs and not is_over(job) and not self.pod_is_over(job)
        ]

    def pod_is_over(self, job: Object) -> bool:
        pod = self.api.objects.get((POD, pod_name(job)))
        return pod is not None and owner_uid(pod) == job["metadata"]["uid"] and is_over(pod)

    @invariant()
    def laws_hold(self) -> None:
        self.check_jobs(self.live_jobs())
        self.check_records()

    def check_jobs(self, jobs: list[Object]) -> None:
        """No run has two, and all fit on the nodes."""
        alive = Counter(owner_uid(job) for job in jobs)
        assert all(count == 1 for count in alive.values()), "two live attempts of a run"
        assert sum(gpus_of(job) for job in jobs) <= GPUS_PER_NODE * self.nodes
        if self.isolation is Isolation.EXCLUSIVE_NODE:
            assert len(jobs) <= self.nodes

    def check_records(self) -> None:
        """What was recorded of a run stays."""
        for run in self.api.of_kind(RUN):
            uid, status = run["metadata"]["uid"], status_of(run)
            over = {a.number: a.to_json_dict() for a in status.attempts if not is_live(a.state)}
            assert self.histories.get(uid, {}).items() <= over.items()
            self.histories[uid] = over
            if any(a.state is AttemptState.SUCCEEDED for a in status.attempts):
                assert status.result is not None
                result = status.result.to_json_dict()
                assert self.results.setdefault(uid, result) == result

    def teardown(self) -> None:
        """Left alone from here on, every benchmark ends, and each run in a stated way."""
        try:
            if self.nodes:
                self.come_to_an_end()
                self.check_end()
                self.check_quiet()
        finally:
            self.patch.undo()
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()

    def come_to_an_end(self) -> None:
        for benchmark in self.api.of_kind(BENCHMARK):
            self.api.change(BENCHMARK, benchmark["metadata"]["name"], spec=self.spec)
        for _ in range(60):
            self.clock.now += 400
            self.operator_works_undisturbed()
            self.cluster_works()
            self.pods_start()
            for pod in self.pods_that_may_end():
                self.cluster.end_pod(pod, End.SUCCESS)
            self.cluster_works()
            self.pods_that_were_deleted_are_gone()
            self.laws_hold()
        self.operator_works_undisturbed()

    def check_end(self) -> None:
        for benchmark in self.api.of_kind(BENCHMARK):
            status = GPUBenchmarkStatus.model_validate(benchmark["status"])
            metadata = {"name": benchmark["metadata"]["name"], "namespace": NAMESPACE}
            parsed = GPUBenchmark.model_validate({"metadata": metadata, "spec": self.spec})
            runs = [self.api.objects[RUN, run.name] for run in expand(parsed).runs]
            assert status.phase in (BenchmarkPhase.COMPLETED, BenchmarkPhase.FAILED), status
            assert status.observed_generation == benchmark["metadata"]["generation"]
            assert {owner_uid(run) for run in runs} == {benchmark["metadata"]["uid"]}
            check_recount(status, [status_of(run) for run in runs])
            for run in runs:
                check_run(status_of(run), status.phase)
        assert self.live_jobs() == []

    def check_quiet(self) -> None:
        """Nothing is written any more, also not by an operator that was just started."""
        self.api.writes.clear()
        self.clock.now += 1000
        self.operator_works_undisturbed()
        assert self.api.writes == []
        self.operator_is_killed()
        self.operator_works_undisturbed()
        self.operator_works_undisturbed()
        assert self.api.writes == []


OperatorOnACluster.TestCase.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=50, deadline=None
)
TestRandomFaults = OperatorOnACluster.TestCase
