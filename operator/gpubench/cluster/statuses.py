"""What statuses tell, as the values that reports and tables are made from. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpubench import __version__
from gpubench.analysis.inputs import ReportInput, ReportRun
from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.enums import BenchmarkPhase, Outcome, RunPhase
from gpubench.api.from_compact import attempt_result
from gpubench.api.result import Failure
from gpubench.api.run import Attempt, GPUBenchmarkRun, GPUBenchmarkRunStatus
from gpubench.cluster.errors import ClusterError
from gpubench.sweep.expansion import expand
from gpubench.sweep.plan import Run


def report_input(
    benchmark: GPUBenchmark, runs: Sequence[GPUBenchmarkRun], source: str, now: datetime
) -> ReportInput:
    """Return what a report is made from: every run of the sweep, those without an object too.

    Raises:
        ClusterError: the cluster's runs are not those of the sweep as it is expanded here.
    """
    objects = {run.name: run for run in runs}
    planned = expand(benchmark).runs
    if objects and not any(run.name in objects for run in planned):
        msg = (
            f"{benchmark.name}: none of its {len(runs)} runs in the cluster is of the sweep as "
            f"this gpubench ({__version__}) expands it: the operator's is of another version"
        )
        raise ClusterError(msg)
    return ReportInput(
        benchmark=benchmark,
        runs=[_report_run(run, objects.get(run.name)) for run in planned],
        generated_at=now,
        source=source,
    )


def runs_outside(benchmark: GPUBenchmark, runs: Sequence[GPUBenchmarkRun]) -> list[str]:
    """Return the names of runs that the sweep, as this gpubench expands it, does not contain.

    They are of values that were taken out of it.
    """
    planned = {run.name for run in expand(benchmark).runs}
    return sorted(run.name for run in runs if run.name not in planned)


def _report_run(run: Run, found: GPUBenchmarkRun | None) -> ReportRun:
    status = status_of(found)
    results = {}
    for attempt in status.attempts:
        result = attempt_result(found, attempt) if found else None
        if result is not None:
            results[attempt.number] = result
    succeeded = (each for each in results.values() if each.outcome is Outcome.SUCCEEDED)
    return ReportRun(
        name=run.name,
        point_hash=run.point.point_hash,
        repetition=run.repetition,
        parameters=run.point.parameters,
        workload=run.point.workload,
        gpus=run.point.gpus,
        attempts=tuple(results.values()),
        accepted=next(succeeded, None),
        state=status.phase,
        given_up=_failure_of(status.attempts[-1]) if status.attempts else None,
        attempts_made=len(status.attempts),
    )


def _failure_of(attempt: Attempt) -> Failure | None:
    failure = attempt.failure
    if failure is None:
        return None
    return Failure(failure_class=failure.failure_class, message=failure.message)


def status_of(run: GPUBenchmarkRun | None) -> GPUBenchmarkRunStatus:
    """Return a run's status; of one that has none yet, that it waits."""
    return (run.status if run else None) or GPUBenchmarkRunStatus()


def what_happened(run: GPUBenchmarkRun | None) -> str:
    """Return in words what a run's phase does not say: why it failed, waits or is invalid."""
    status = status_of(run)
    if status.phase is RunPhase.INVALID and status.validity:
        gates = status.validity.failed_gates
        return "; ".join(gate.message or gate.name.value for gate in gates)
    failure = status.attempts[-1].failure if status.attempts else None
    if failure is not None and status.phase is not RunPhase.SUCCEEDED:
        return f"{failure.failure_class}: {failure.message}"
    return ""


@dataclass(frozen=True)
class ListedBenchmark:
    """A benchmark in one line."""

    namespace: str
    name: str
    phase: str
    runs: str
    failed: int
    time_to_go: float | None
    """Seconds until the last run is done, where they are known."""
    age: float
    """Seconds since it was created."""


def list_entry(manifest: dict[str, Any], now: datetime) -> ListedBenchmark:
    """Return a benchmark's line from the object as the API server sent it.

    It looks at what it prints and nothing else, so that one benchmark of another version does not
    hide the others.
    """
    metadata, status = manifest["metadata"], manifest.get("status") or {}
    progress = status.get("progress") or {}
    eta = status.get("estimatedCompletionTime")
    finished = sum(progress.get(state, 0) for state in ("succeeded", "invalid", "failed"))
    return ListedBenchmark(
        namespace=metadata["namespace"],
        name=metadata["name"],
        phase=status.get("phase", BenchmarkPhase.PENDING.value),
        runs=status.get("runs") or f"{finished}/{progress.get('total', 0)}",
        failed=progress.get("failed", 0),
        time_to_go=max((moment(eta) - now).total_seconds(), 0.0) if eta else None,
        age=(now - moment(metadata["creationTimestamp"])).total_seconds(),
    )


def moment(timestamp: str) -> datetime:
    """Return a moment as Kubernetes writes it."""
    return datetime.fromisoformat(timestamp)
