"""The optimizers by name."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from gpubench.api.enums import Optimizer as OptimizerName

MOMENTUM = 0.9
"""Of SGD, as in torchvision's training recipes."""


def build_optimizer(
    name: OptimizerName,
    parameters: Iterable[nn.Parameter],
    learning_rate: float,
    epsilon: float,
    device: torch.device,
) -> Optimizer:
    """Return an optimizer; fused on a GPU, where one kernel then updates all weights.

    Only a fused optimizer leaves it to the GPU to skip a step whose scaled gradients overflowed;
    the others would wait for the GPU at each step to find out.
    """
    fused = True if device.type == "cuda" else None
    match name:
        case OptimizerName.ADAM:
            return Adam(parameters, lr=learning_rate, eps=epsilon, fused=fused)
        case OptimizerName.ADAMW:
            return AdamW(parameters, lr=learning_rate, eps=epsilon, fused=fused)
        case OptimizerName.SGD:
            return SGD(parameters, lr=learning_rate, momentum=MOMENTUM, fused=fused)


def describe_optimizer(optimizer: Optimizer) -> str:
    """Return an optimizer and its settings in one line."""
    group = optimizer.param_groups[0]
    names = ("lr", "betas", "eps", "momentum", "weight_decay", "fused")
    settings = ", ".join(f"{name}={group[name]}" for name in names if group.get(name) is not None)
    return f"{type(optimizer).__name__}({settings})"
