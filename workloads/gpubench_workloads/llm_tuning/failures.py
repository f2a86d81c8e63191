"""From an exception to what a rank reports: its class and one line for a person."""

from __future__ import annotations

import errno

from gpubench.api.enums import FailureClass
from gpubench_workloads.reporting.rank_report import RankFailure
from gpubench_workloads.training import failures as common

MEMORY_ADVICE = "lower batchSize or sequenceLength, or use QLoRA or activationCheckpointing: Full"


def describe_failure(error: Exception) -> RankFailure:
    """Return why a rank gave up."""
    if _is_full_disk(error):
        message = f"checkpoint folder full: {_first_line(error)}; give the results more room"
        return RankFailure(failure_class=FailureClass.ENVIRONMENT, message=message)
    failure = common.describe_failure(error)
    if failure.failure_class is FailureClass.OUT_OF_MEMORY:
        message = f"out of memory; {MEMORY_ADVICE} ({_first_line(error)})"
        return failure.model_copy(update={"message": message})
    return failure


def is_known(error: Exception) -> bool:
    """Return whether one line says all that there is to say, so that no traceback is needed."""
    return _is_full_disk(error) or common.is_known(error)


def _is_full_disk(error: Exception) -> bool:
    # torch.save tells it as a RuntimeError of its own, below which the system's stands.
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, OSError) and chain.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        chain = chain.__cause__ or chain.__context__
    return False


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
