"""`python -m gpubench_workloads.llm_tuning`: one rank, as torchrun starts it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gpubench_workloads.llm_tuning.plan import CACHE_FOLDER
from gpubench_workloads.reporting.rank_program import RankProgram, exit_at_once, run_as_rank

SETTINGS = {
    # A run fetches nothing and tells nobody anything; `gpubench`'s guide says how to fetch before.
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Environment of the libraries below, where the user has not set it; read when they are loaded."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Tune as the run spec says and report; return 0 if training reached its end."""
    return run_as_rank(_load, __doc__, arguments)


def _load(attempt: Path) -> RankProgram:
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("HF_DATASETS_CACHE", str(attempt.absolute() / CACHE_FOLDER))
    from gpubench_workloads.llm_tuning.failures import describe_failure, is_known
    from gpubench_workloads.llm_tuning.run import run_rank
    from gpubench_workloads.training.ranks import rank_number

    return RankProgram(run_rank, rank_number, describe_failure, is_known)


if __name__ == "__main__":
    exit_at_once(main())
