"""`python -m gpubench_workloads.image_recognition`: one rank, as torchrun starts it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpubench_workloads.reporting.rank_program import RankProgram, exit_at_once, run_as_rank


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the run spec says and report; return 0 if training reached its end."""
    return run_as_rank(_load, __doc__, arguments)


def _load(_attempt: Path) -> RankProgram:
    from gpubench_workloads.image_recognition.run import run_rank
    from gpubench_workloads.training.failures import describe_failure, is_known
    from gpubench_workloads.training.ranks import rank_number

    return RankProgram(run_rank, rank_number, describe_failure, is_known)


if __name__ == "__main__":
    exit_at_once(main())
