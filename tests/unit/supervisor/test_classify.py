"""Why an attempt failed, from how its ranks ended."""

from __future__ import annotations

import pytest

from gpubench.api.enums import FailureClass
from gpubench_workloads.reporting.rank_report import RankFailure, RankReport
from gpubench_workloads.supervisor.classify import Ending, classify
from gpubench_workloads.supervisor.watch import Interruption


def report(rank: int, failure: FailureClass | None = None) -> RankReport:
    cause = RankFailure(failure_class=failure, message=f"said by {rank}") if failure else None
    return RankReport(rank=rank, failure=cause)


FINE = [report(0), report(1)]
TIMEOUT = Interruption(FailureClass.TIMEOUT, "too long")
NAN, CRASH, OOM = (
    FailureClass.NON_FINITE_LOSS,
    FailureClass.CRASH,
    FailureClass.OUT_OF_MEMORY,
)


@pytest.mark.parametrize(
    ("ending", "failure_class", "words"),
    [
        (Ending(1, interruption=TIMEOUT, rank_exits={0: -9}), FailureClass.TIMEOUT, "too long"),
        (Ending(1, rank_exits={0: 1}, reports=[report(0, NAN), None]), NAN, "said by 0"),
        # A rank that lost its peer crashes, too: what the peer knew of itself is the cause.
        (Ending(1, reports=[report(0, CRASH), report(1, NAN)]), NAN, "said by 1"),
        (
            Ending(1, rank_exits={0: 1, 1: -9}, reports=[report(0, CRASH), None]),
            FailureClass.KILLED,
            "rank 1 was killed by SIGKILL",
        ),
        (
            Ending(1, rank_exits={1: -9}, reports=[None, None], kernel_oom_kills=1),
            OOM,
            "rank 1 was killed by the kernel: out of main memory",
        ),
        (Ending(1, rank_exits={0: -15}, reports=[None]), FailureClass.KILLED, "SIGTERM"),
        (Ending(1, rank_exits={0: -11}, reports=[None]), CRASH, "crashed with SIGSEGV"),
        (Ending(1, rank_exits={0: 1}, reports=[report(0, CRASH)]), CRASH, "said by 0"),
        (Ending(1, rank_exits={1: 3}, reports=[None, None]), CRASH, "rank 1 ended with exit code"),
        (Ending(-9, reports=[None]), FailureClass.KILLED, "torchrun was killed by SIGKILL"),
        (Ending(1, reports=[None]), CRASH, "torchrun ended with exit code 1"),
        (Ending(0, reports=[report(0), None]), FailureClass.RESULT_MISSING, "rank 1"),
    ],
)
def test_cause_of_a_failure(ending: Ending, failure_class: FailureClass, words: str) -> None:
    failure = classify(ending)
    assert failure is not None
    assert failure.failure_class is failure_class
    assert words in failure.message


def test_ranks_that_trained_to_their_end_did_not_fail() -> None:
    assert classify(Ending(0, reports=FINE)) is None


def test_exit_code_of_the_rank_is_kept() -> None:
    failure = classify(Ending(1, rank_exits={1: -9}, reports=[None, None]))
    assert failure is not None
    assert (failure.rank, failure.exit_code) == (1, -9)
