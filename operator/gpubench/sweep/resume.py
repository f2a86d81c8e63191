"""What is left to do of a sweep that was begun before."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gpubench.sweep.plan import Run


def runs_to_do(runs: Iterable[Run], finished: Collection[str]) -> tuple[Run, ...]:
    """Return the runs whose names are not among the finished ones, in their order.

    Names carry the hash of what a run does: a run that is finished under the same name did the
    same work, and one whose parameters have changed since has another name.
    """
    names = frozenset(finished)
    return tuple(run for run in runs if run.name not in names)
