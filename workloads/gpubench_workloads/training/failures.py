"""From an exception to what a rank reports: its class and one line for a person."""

from __future__ import annotations

import torch
from pydantic import ValidationError
from torch import distributed as dist

from gpubench.api.enums import FailureClass
from gpubench_workloads.reporting.rank_report import RankFailure
from gpubench_workloads.training.errors import WorkloadError

CPU_ALLOCATION = "can't allocate memory"
"""From torch's CPU allocator, which raises a plain RuntimeError."""
PEER_LOST = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "gloo", "NCCL")
"""From gloo and NCCL when another rank is gone; gloo raises a plain RuntimeError."""


def describe_failure(error: Exception) -> RankFailure:
    """Return why a rank gave up."""
    return RankFailure(failure_class=_failure_class(error), message=_one_line(error))


def is_known(error: Exception) -> bool:
    """Return whether one line says all that there is to say, so that no traceback is needed."""
    return _failure_class(error) is not FailureClass.CRASH or _is_lost_peer(error)


def _failure_class(error: Exception) -> FailureClass:
    if isinstance(error, WorkloadError):
        return error.failure_class
    if isinstance(error, ValidationError):
        return FailureClass.BAD_SPEC
    if _is_out_of_memory(error):
        return FailureClass.OUT_OF_MEMORY
    return FailureClass.CRASH


def _is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and CPU_ALLOCATION in str(error)
    )


def _is_lost_peer(error: Exception) -> bool:
    if isinstance(error, dist.DistError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in PEER_LOST)


def _one_line(error: Exception) -> str:
    if isinstance(error, WorkloadError):
        return _without_worker(error)
    first = next(iter(str(error).strip().splitlines()), "")
    if isinstance(error, ValidationError):
        fields = "; ".join(
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
        )
        return f"run.json is not a run spec: {fields}"
    if _is_out_of_memory(error):
        return f"out of memory; lower batchSize or imageSize ({first})"
    if _is_lost_peer(error):
        return f"lost another rank, whose own failure came first ({first})"
    return f"{type(error).__name__}: {first}"


def _without_worker(error: WorkloadError) -> str:
    """Return the message; a DataLoader worker's error carries it below a whole traceback."""
    last = str(error).strip().splitlines()[-1]
    return last.removeprefix(f"{type(error).__module__}.{type(error).__qualname__}: ")
