"""From what became of each rank's profile to one line for a person. Pure."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

from gpubench.api.enums import GateName
from gpubench.api.profile import Profile
from gpubench.api.result import Gate
from gpubench_workloads.profiling.overhead import Overhead
from gpubench_workloads.profiling.records import KeeperRecord
from gpubench_workloads.reporting.rank_report import ProfileSource, RankProfile

UNREAD = "cannot be read"
"""Part of those of a profile's notes that tell of a report of which nothing is known."""


@dataclass(frozen=True)
class RankOutcome:
    """What became of the profile of one rank."""

    rank: int
    covers: RankProfile | None
    """What the rank says of it."""
    keeper: KeeperRecord | None
    """What its keeper says of nsys; none without nsys."""
    report_bytes: int | None
    """Size of the report; None if there is none."""

    @property
    def is_readable(self) -> bool:
        """Whether there is a report to read."""
        return bool(self.report_bytes)

    def problem(self) -> str | None:
        """Return what is wrong with it, None if nothing is."""
        if self.covers is None:
            return "the rank said nothing of a profile"
        if self.covers.first_step is not None and not self.is_readable:
            return self._why_no_report()
        return self.covers.note

    def _why_no_report(self) -> str:
        if self.covers is not None and self.covers.source is ProfileSource.KINETO:
            return self.covers.note or "torch.profiler left no trace"
        what = "nsys left no report" if self.report_bytes is None else "nsys left an empty report"
        keeper = self.keeper
        if keeper is None:
            return f"{what}: it was stopped before it was done"
        if keeper.overdue:
            return f"{what}: it had not finished it long after the training"
        if keeper.nsys_exit is not None and keeper.nsys_exit < 0:
            return f"{what}: it was ended by {signal.Signals(-keeper.nsys_exit).name}"
        if keeper.nsys_exit:
            return f"{what} and ended with exit code {keeper.nsys_exit}"
        if keeper.agent_lost:
            hint = ": its agent was ended"
        else:
            hint = f"; is its disk full? See ranks/nsys-{self.rank}.log"
        return what + hint


def why_kineto(outcomes: Sequence[RankOutcome]) -> str | None:
    """Return why ranks were profiled by torch.profiler, None if none was."""
    for outcome in outcomes:
        if outcome.covers is None or outcome.covers.source is not ProfileSource.KINETO:
            continue
        keeper = outcome.keeper
        if keeper is None:
            return "there is no nsys (set GPUBENCH_NSYS, or put it on PATH)"
        if keeper.exposed:
            return (
                "nsys would have written the environment of other processes into its report "
                f"(process {keeper.exposed[0]}; the kernel has no Landlock that could prevent it)"
            )
        return f"nsys did not start: {keeper.problem or f'exit code {keeper.nsys_exit}'}"
    return None


def profile_gate(
    outcomes: Sequence[RankOutcome],
    profile: Profile | None,
    overhead: Overhead | None,
    reduction_problem: str | None,
) -> Gate:
    """Judge whether the profile that was asked for is there and whole, and say what it is."""
    problems = by_problem({outcome.rank: outcome.problem() for outcome in outcomes})
    if profile is not None:
        problems += [note for note in profile.notes if UNREAD in note]
    if reduction_problem is not None:
        problems.append(reduction_problem)
    elif profile is None and not problems:
        problems.append("no report was read")
    kineto = why_kineto(outcomes)
    parts = problems if problems else [_description(profile, overhead)]
    if kineto is not None:
        parts.append(f"by torch.profiler: {kineto}")
    return Gate(name=GateName.PROFILE, passed=not problems, message="; ".join(parts))


def by_problem(problems: dict[int, str | None]) -> list[str]:
    """Return each problem once, with the ranks that have it where not all do."""
    found = dict.fromkeys(problem for problem in problems.values() if problem is not None)
    lines = []
    for problem in found:
        ranks = [rank for rank, other in problems.items() if other == problem]
        whose = "" if len(ranks) == len(problems) else f"rank {', '.join(map(str, ranks))}: "
        lines.append(f"{whose}{problem}")
    return lines


def _description(profile: Profile | None, overhead: Overhead | None) -> str:
    assert profile is not None
    window = profile.window
    first, steps = window.first_step or 1, window.steps or 0
    covered = f"steps {first} to {first + steps - 1}, {window.seconds:.3g} s"
    if overhead is None:
        return f"{covered}; overhead unknown: no unprofiled steps to compare with"
    return (
        f"{covered}; overhead {overhead.ratio:.1%} ({overhead.profiled} steps against "
        f"{overhead.unprofiled} without the profiler)"
    )
