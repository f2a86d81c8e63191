"""What runs will cost in GPU time, by what the same points cost before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gpubench.sweep.plan import Run


@dataclass(frozen=True, slots=True)
class Estimate:
    """GPU time that runs will take."""

    known_gpu_seconds: float
    """Seconds times GPUs of the runs whose points have an earlier result."""
    known_runs: int
    """Runs whose points have one."""
    unknown_runs: int
    """Runs whose points have none."""

    def describe(self) -> str:
        """Return the estimate in words."""
        total = self.known_runs + self.unknown_runs
        if total == 0:
            return "nothing to run"
        if self.known_runs == 0:
            return "unknown: no earlier result of these points"
        time = _gpu_time(self.known_gpu_seconds)
        if self.unknown_runs == 0:
            return f"about {time}"
        return (
            f"at least {time} for {self.known_runs} of {total} runs; "
            f"no earlier result of the other {self.unknown_runs}"
        )


def estimate_cost(runs: Iterable[Run], earlier: Mapping[str, Sequence[float]]) -> Estimate:
    """Estimate runs by the GPU seconds of earlier runs of the same points.

    `earlier` maps point hashes to those; the median counts, so that one slow run does not.
    """
    known: list[float] = []
    unknown = 0
    for run in runs:
        if seconds := earlier.get(run.point.point_hash):
            known.append(median(seconds))
        else:
            unknown += 1
    return Estimate(sum(known), len(known), unknown)


def _gpu_time(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:,.1f} GPU-hours"
    if seconds >= 60:
        return f"{seconds / 60:.0f} GPU-minutes"
    return f"{seconds:.0f} GPU-seconds"
