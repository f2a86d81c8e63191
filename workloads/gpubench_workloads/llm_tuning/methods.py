"""The methods of tuning: which of torchtune's recipes does each, and what it tunes. No torch."""

from __future__ import annotations

from dataclasses import dataclass

from gpubench.api.enums import TuningMethod

ADAPTED_MODULES = ("q_proj", "v_proj", "output_proj")
"""Attention projections that get an adapter, as in torchtune's configurations of Llama 3; the
three matrices of the feed-forward layer get one, too."""


@dataclass(frozen=True)
class Method:
    """A method of tuning."""

    distributed_recipe: str
    """Its recipe for several ranks, in torchtune's registry."""
    single_device_recipe: str | None = None
    """Its recipe for one; without one, one rank runs the distributed recipe."""
    adapters: bool = False
    """Whether low-rank adapters are tuned, all else being frozen."""
    quantized_base: bool = False
    """Whether the frozen weights are kept in NF4."""
    preference: bool = False
    """Whether it learns from pairs of answers (DPO)."""
    reference_model: bool = False
    """Whether a second, frozen model stands beside the tuned one."""
    quantization_aware: bool = False
    """Whether weights and activations are rounded in training as they will be in use."""
    warmup: bool = True
    """Whether the recipe knows a schedule of the learning rate."""
    compiles: bool = True
    """Whether the recipe can be compiled."""

    def recipe(self, ranks: int) -> str:
        """Return the name of the recipe that so many ranks run."""
        if ranks == 1 and self.single_device_recipe is not None:
            return self.single_device_recipe
        return self.distributed_recipe

    def is_distributed(self, ranks: int) -> bool:
        """Return whether that recipe wants a process group."""
        return self.recipe(ranks) == self.distributed_recipe


METHODS = {
    TuningMethod.LORA: Method(
        single_device_recipe="lora_finetune_single_device",
        distributed_recipe="lora_finetune_distributed",
        adapters=True,
    ),
    TuningMethod.QLORA: Method(
        single_device_recipe="lora_finetune_single_device",
        distributed_recipe="lora_finetune_distributed",
        adapters=True,
        quantized_base=True,
    ),
    TuningMethod.FULL: Method(
        single_device_recipe="full_finetune_single_device",
        distributed_recipe="full_finetune_distributed",
    ),
    TuningMethod.DPO: Method(
        distributed_recipe="full_dpo_distributed", preference=True, reference_model=True
    ),
    TuningMethod.LORA_DPO: Method(
        single_device_recipe="lora_dpo_single_device",
        distributed_recipe="lora_dpo_distributed",
        adapters=True,
        preference=True,
    ),
    TuningMethod.QAT: Method(
        distributed_recipe="qat_distributed",
        quantization_aware=True,
        warmup=False,
        compiles=False,
    ),
    TuningMethod.QAT_LORA: Method(
        distributed_recipe="qat_lora_finetune_distributed",
        adapters=True,
        quantization_aware=True,
        compiles=False,
    ),
}
