"""What is left to run of a benchmark, and what that will cost by earlier results."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gpubench.sweep.cost import estimate_cost
from gpubench.sweep.resume import runs_to_do

if TYPE_CHECKING:
    from gpubench.store import ResultsFolder
    from gpubench.sweep.plan import Plan


def describe_work(plan: Plan, folder: ResultsFolder) -> str:
    """Return how many runs are finished and to do, and their GPU time as far as it is known.

    Raises:
        ResultVersionError: a result was written by a newer gpubench.
    """
    finished: set[str] = set()
    gpu_seconds: dict[str, list[float]] = defaultdict(list)
    for run in plan.runs:
        for attempt in folder.attempts(run.name):
            if attempt.succeeded and attempt.result and attempt.result.timing:
                finished.add(run.name)
                seconds = attempt.result.timing.total_seconds
                gpu_seconds[run.point.point_hash].append(seconds * run.point.gpus)
    to_do = runs_to_do(plan.runs, finished)
    done = f"{len(finished)} of {len(plan.runs)} runs finished, " if finished else ""
    return f"{done}{len(to_do)} to run; GPU time: {estimate_cost(to_do, gpu_seconds).describe()}"
