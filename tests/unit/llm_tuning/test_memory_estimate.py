"""What a run needs of memory is known before it starts."""

from __future__ import annotations

import pytest

from gpubench.api.enums import ActivationCheckpointing, FailureClass
from gpubench_workloads.llm_tuning.memory_estimate import (
    GIB,
    NotEnoughMemoryError,
    check_memory,
    estimate_memory,
)
from tests.unit.llm_tuning.specs import tuning

H100 = 80e9


def gib(ranks: int = 1, **fields: object) -> float:
    return estimate_memory(tuning(model="llama3-8b", **fields), ranks).certain / GIB


def test_the_weights_of_eight_billion_parameters_take_what_everybody_knows() -> None:
    assert gib(method="LoRA", precision="BF16") == pytest.approx(15.1, abs=0.2)
    assert gib(method="LoRA", precision="FP32") == pytest.approx(30.2, abs=0.4)
    # torchtune tells 7.4 GiB and more for this one with its activations.
    assert 5 < gib(method="QLoRA", precision="BF16") < 7.4
    # Weights, gradients and two moments of each.
    assert gib(method="Full", precision="BF16") == pytest.approx(4 * 15.0, abs=0.5)


def test_ranks_share_weights_gradients_and_moments() -> None:
    alone, four = (gib(ranks, method="Full", precision="BF16") for ranks in (1, 4))
    assert four == pytest.approx(alone / 4 + 0.8, abs=0.2)


def test_only_packed_batches_are_certain_to_be_long() -> None:
    assert gib(packed=True, sequenceLength=8192, batchSize=8) > gib(sequenceLength=8192) + 30


def test_a_model_that_cannot_fit_is_refused_with_what_would() -> None:
    spec = tuning(model="llama3-8b", method="Full", precision="FP32")
    with pytest.raises(NotEnoughMemoryError) as caught:
        check_memory(spec, 1, H100, "NVIDIA H100")
    assert caught.value.failure_class is FailureClass.OUT_OF_MEMORY
    assert str(caught.value) == (
        "model: llama3-8b with method: Full needs 119.7 GiB on each rank (weights 29.9, gradients "
        "29.9, moments 59.8), 45.2 GiB more than the 74.5 GiB of NVIDIA H100; would fit: "
        "precision: BF16, method: LoRA, method: QLoRA, gpus: 2"
    )


def test_a_batch_that_cannot_fit_may_be_smaller() -> None:
    spec = tuning(model="llama3-8b", packed=True, sequenceLength=2048, batchSize=64)
    spec = spec.model_copy(update={"activation_checkpointing": ActivationCheckpointing.FULL})
    with pytest.raises(NotEnoughMemoryError, match=r"would fit: batchSize: \d+"):
        check_memory(spec, 1, H100, "NVIDIA H100")


def test_what_fits_is_let_through() -> None:
    check_memory(tuning(), 2, GIB, "main memory")
