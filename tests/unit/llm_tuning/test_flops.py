"""The formula of operations, held to what torch counts on the model itself."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from gpubench.api.enums import LanguageModel, TuningMethod
from gpubench_workloads.llm_tuning.flops import adapter_parameters, tuning_flops
from gpubench_workloads.llm_tuning.methods import METHODS
from gpubench_workloads.llm_tuning.models import ARCHITECTURES
from gpubench_workloads.llm_tuning.random_weights import plain_model

TINY = ARCHITECTURES[LanguageModel.TINY_LLAMA]


def test_a_matrix_multiplies_as_often_as_torch_counts() -> None:
    model, tokens = plain_model(LanguageModel.TINY_LLAMA), torch.zeros(2, 64, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model(tokens).sum().backward()
    # The counter sees no attention on a processor, whose kernel is one operation to it.
    counted = counter.get_total_flops() / tokens.numel()
    stated = tuning_flops(TINY, METHODS[TuningMethod.FULL], lora_rank=8).per_token
    # Nobody asks for the gradient of the first layer's input, but of all its weights.
    assert counted == pytest.approx(stated, rel=0.08)


def test_frozen_weights_cost_two_thirds_and_adapters_little() -> None:
    model = ARCHITECTURES[LanguageModel.LLAMA3_8B]
    full, lora = (
        tuning_flops(model, METHODS[method], lora_rank=8).per_token
        for method in (TuningMethod.FULL, TuningMethod.LORA)
    )
    assert lora / full == pytest.approx(2 / 3, rel=0.01)
    assert adapter_parameters(model, lora_rank=8) == 32 * 8 * (
        (4096 + 4096) + (4096 + 1024) + (4096 + 4096) + 3 * (4096 + 14_336)
    )


def test_preference_pairs_cost_the_references_forward_pass_besides() -> None:
    lora, dpo = (
        tuning_flops(TINY, METHODS[method], lora_rank=8)
        for method in (TuningMethod.LORA, TuningMethod.LORA_DPO)
    )
    assert dpo.per_token > 1.4 * lora.per_token
    assert dpo.per_attended_pair == lora.per_attended_pair * 4 / 3
