"""From how the ranks ended to why the attempt failed. Pure."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpubench.api.enums import FailureClass
from gpubench.api.result import Failure
from gpubench_workloads.reporting.rank_report import RankReport
from gpubench_workloads.supervisor.watch import Interruption

CAUSES_BEFORE_CRASH = (
    FailureClass.BAD_SPEC,
    FailureClass.DATA_MISSING,
    FailureClass.NON_FINITE_LOSS,
    FailureClass.OUT_OF_MEMORY,
    FailureClass.ENVIRONMENT,
)
"""What a rank knows of itself for certain, the most certain first.

A rank that lost its peers reports a crash too, so a crash is the last thing to believe.
"""
CRASH_SIGNALS = frozenset(
    {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGABRT, signal.SIGFPE}
)


@dataclass(frozen=True)
class Ending:
    """How the ranks ended: what the supervisor, torchrun, the ranks and the kernel saw."""

    exit_code: int
    interruption: Interruption | None = None
    rank_exits: Mapping[int, int] = field(default_factory=dict)
    reports: Sequence[RankReport | None] = ()
    kernel_oom_kills: int = 0


def classify(ending: Ending) -> Failure | None:
    """Return why the attempt failed, None if every rank trained to its end."""
    if ending.interruption is not None:
        interruption = ending.interruption
        return Failure(failure_class=interruption.failure_class, message=interruption.message)
    return (
        _known_cause(ending)
        or _killed(ending)
        or _reported_crash(ending)
        or _silent_crash(ending)
        or _missing_report(ending)
    )


def _known_cause(ending: Ending) -> Failure | None:
    for failure_class in CAUSES_BEFORE_CRASH:
        for report in ending.reports:
            if report and report.failure and report.failure.failure_class is failure_class:
                return _reported(report, ending)
    return None


def _killed(ending: Ending) -> Failure | None:
    for rank, code in sorted(ending.rank_exits.items()):
        if code >= 0:
            continue
        name = signal.Signals(-code).name
        if code == -signal.SIGKILL and ending.kernel_oom_kills:
            message = f"rank {rank} was killed by the kernel: out of main memory"
            kind = FailureClass.OUT_OF_MEMORY
        elif -code in CRASH_SIGNALS:
            message = f"rank {rank} crashed with {name}"
            kind = FailureClass.CRASH
        else:
            message = f"rank {rank} was killed by {name}"
            kind = FailureClass.KILLED
        return Failure(failure_class=kind, message=message, rank=rank, exit_code=code)
    return None


def _reported_crash(ending: Ending) -> Failure | None:
    for report in ending.reports:
        if report and report.failure:
            return _reported(report, ending)
    return None


def _silent_crash(ending: Ending) -> Failure | None:
    for rank, code in sorted(ending.rank_exits.items()):
        message = f"rank {rank} ended with exit code {code}; its last output is in the log"
        return Failure(failure_class=FailureClass.CRASH, message=message, rank=rank, exit_code=code)
    if ending.exit_code < 0:
        name = signal.Signals(-ending.exit_code).name
        message = f"torchrun was killed by {name}"
        return Failure(
            failure_class=FailureClass.KILLED, message=message, exit_code=ending.exit_code
        )
    if ending.exit_code > 0:
        message = f"torchrun ended with exit code {ending.exit_code}; its last output is in the log"
        return Failure(
            failure_class=FailureClass.CRASH, message=message, exit_code=ending.exit_code
        )
    return None


def _missing_report(ending: Ending) -> Failure | None:
    for rank, report in enumerate(ending.reports):
        if report is None:
            message = f"rank {rank} ended without a report"
            return Failure(failure_class=FailureClass.RESULT_MISSING, message=message, rank=rank)
    return None


def _reported(report: RankReport, ending: Ending) -> Failure:
    assert report.failure is not None
    return Failure(
        failure_class=report.failure.failure_class,
        message=report.failure.message,
        rank=report.rank,
        exit_code=ending.rank_exits.get(report.rank),
    )
