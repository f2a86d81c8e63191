"""Jobs that wait for what the spec does not ask for any more. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpubench.api.enums import AttemptState, FailureClass
from gpubench.backends import BACKENDS, JobState
from gpubench.controller.cache import BenchmarkCache
from gpubench.controller.observer import RunView, waiting_jobs
from gpubench.controller.planning import Assignment
from gpubench.lifecycle import StopAttempt


def outdated_attempts(
    assignment: Assignment, views: Iterable[RunView], cache: BenchmarkCache, judged: set[str]
) -> Iterator[StopAttempt]:
    """Return attempts that have not begun and would be made otherwise by the present spec.

    So a spec is mended by an edit: what waits for a volume or a queue that it does not name any
    more is made anew. What already runs goes on. `judged` holds the uids of jobs that need not be
    looked at again under this spec; those that pass are added.
    """
    for view in views:
        live, record = view.run.live, cache.runs.get(view.run.name)
        if record is None or live is None or live.state is not AttemptState.PENDING:
            continue
        for job, _ in waiting_jobs(cache, record):
            if job.attempt != live.number or job.uid in judged:
                continue
            if not _is_outdated(job, assignment):
                judged.add(job.uid)
            else:
                message = "the benchmark's spec was changed before its pod began"
                yield StopAttempt(job.run, job.attempt, FailureClass.PREEMPTED, message)


def _is_outdated(job: JobState, assignment: Assignment) -> bool:
    backend = BACKENDS[assignment.benchmark.spec.execution.backend]
    request = assignment.requests.build(assignment.runs[job.run], job.run_uid, job.attempt)
    return bool(job.template) and job.template != backend.digest(request)
