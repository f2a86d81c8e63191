"""What a rank says of itself when it gives up."""

from __future__ import annotations

import pytest
import torch
from pydantic import ValidationError
from torch import distributed as dist
from torch.utils.data import DataLoader, Dataset

from gpubench.api.enums import FailureClass
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.training.errors import (
    BadSpecError,
    DataMissingError,
    NonFiniteLossError,
    UnfitMachineError,
)
from gpubench_workloads.training.failures import describe_failure, is_known

GLOO = (
    "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:538] Connection closed by peer "
    "[127.0.0.1]:1234. This may indicate a remote process failure"
)
CPU_MEMORY = (
    "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 4000000000000 bytes."
)


@pytest.mark.parametrize(
    ("error", "kind", "message", "known"),
    [
        (BadSpecError("b"), FailureClass.BAD_SPEC, "b", True),
        (DataMissingError("d"), FailureClass.DATA_MISSING, "d", True),
        (NonFiniteLossError("n"), FailureClass.NON_FINITE_LOSS, "n", True),
        (UnfitMachineError("u"), FailureClass.ENVIRONMENT, "u", True),
        (
            torch.OutOfMemoryError("CUDA out of memory. Tried 2 GiB.\nmore"),
            FailureClass.OUT_OF_MEMORY,
            "out of memory; lower batchSize or imageSize (CUDA out of memory. Tried 2 GiB.)",
            True,
        ),
        (
            RuntimeError(CPU_MEMORY),
            FailureClass.OUT_OF_MEMORY,
            f"out of memory; lower batchSize or imageSize ({CPU_MEMORY})",
            True,
        ),
        (
            RuntimeError(GLOO),
            FailureClass.CRASH,
            f"lost another rank, whose own failure came first ({GLOO})",
            True,
        ),
        (
            dist.DistBackendError("NCCL error\nmore"),
            FailureClass.CRASH,
            "lost another rank, whose own failure came first (NCCL error)",
            True,
        ),
        (KeyError("x"), FailureClass.CRASH, "KeyError: 'x'", False),
        (RuntimeError(""), FailureClass.CRASH, "RuntimeError: ", False),
    ],
    ids=[
        *("bad spec", "data missing", "non-finite loss", "unfit machine", "GPU memory"),
        *("main memory", "gloo peer", "NCCL peer", "bug", "without a message"),
    ],
)
def test_every_failure_is_one_line(
    error: Exception, kind: FailureClass, message: str, known: bool
) -> None:
    failure = describe_failure(error)
    assert (failure.failure_class, failure.message) == (kind, message)
    assert is_known(error) is known


def test_a_spec_that_is_none_names_its_fields() -> None:
    with pytest.raises(ValidationError) as caught:
        RunSpec.model_validate({"gpus": 0})
    failure = describe_failure(caught.value)
    assert failure.failure_class is FailureClass.BAD_SPEC
    assert "gpus: Input should be greater than or equal to 1" in failure.message
    assert "\n" not in failure.message


class Broken(Dataset[int]):
    """A dataset without a single good image."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> int:
        msg = f"image {index}: not a readable image"
        raise DataMissingError(msg)


@pytest.mark.parametrize("workers", [0, 1])
def test_an_error_of_a_loading_worker_is_the_same_line(workers: int) -> None:
    with pytest.raises(DataMissingError) as caught:
        next(iter(DataLoader(Broken(), num_workers=workers)))
    failure = describe_failure(caught.value)
    assert failure.failure_class is FailureClass.DATA_MISSING
    assert failure.message == "image 0: not a readable image"
