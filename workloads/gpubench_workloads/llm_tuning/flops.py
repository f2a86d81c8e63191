"""Floating-point operations of tuning, by a stated formula. No torch.

A multiply and an add are two operations. For each token, a matrix of P weights takes 2 P in the
forward pass, 2 P for the gradient of its input, and 2 P for the gradient of its weights where
those are tuned: 6 P if tuned (Kaplan et al. 2020, section 2.1; PaLM, appendix B), 4 P if frozen.
An adapter's matrices are tuned. Attention multiplies no weights: for each pair of a token and one
that it looks at (itself and those before it, so that the mask is counted exactly), queries times
keys and scores times values take 4 W in the forward pass (W: heads times head width) and twice
that in the backward pass: 12 W per layer. The reference of DPO makes forward passes only.
The embedding is a lookup and counts nothing. What is computed a second time by activation
checkpointing, dequantisation of NF4, fake quantisation and padding count nothing either: this is
the model's own work (MFU), not what the hardware did.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpubench_workloads.llm_tuning.methods import ADAPTED_MODULES, Method
from gpubench_workloads.llm_tuning.models import Architecture

FEED_FORWARD_MODULES = ("w1", "w2", "w3")


@dataclass(frozen=True)
class Flops:
    """Operations of a training step's parts."""

    per_token: float
    per_attended_pair: float

    def of(self, tokens: int, attended: int) -> float:
        """Return the operations for so many tokens and pairs that attention looks at."""
        return self.per_token * tokens + self.per_attended_pair * attended


def tuning_flops(architecture: Architecture, method: Method, lora_rank: int) -> Flops:
    """Return what one token, and one pair of tokens, take to be learned from."""
    matrices = architecture.layers * sum(architecture.layer_projections.values())
    matrices += architecture.embedding_parameters  # the output projection
    attention = 4 * architecture.layers * architecture.width
    if method.adapters:
        per_token = 4 * matrices + 6 * adapter_parameters(architecture, lora_rank)
    else:
        per_token = 6 * matrices
    if method.preference:
        return Flops(per_token + 2 * matrices, 4 * attention)
    return Flops(per_token, 3 * attention)


def adapter_parameters(architecture: Architecture, lora_rank: int) -> int:
    """Return the weights of all adapters: a matrix of n x m gets r x (n + m)."""
    per_layer = 0
    for name in ADAPTED_MODULES + FEED_FORWARD_MODULES:
        weights = architecture.layer_projections[name]
        inputs = architecture.feed_forward if name == "w2" else architecture.width
        per_layer += lora_rank * (inputs + weights // inputs)
    return architecture.layers * per_layer
