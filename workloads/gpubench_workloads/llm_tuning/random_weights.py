"""Weights drawn at random: the tiny model's own, and those of true size for speed alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torchtune import config as tune_config
from torchtune import training
from torchtune.training.precision import PRECISION_STR_TO_DTYPE

from gpubench.api.enums import LanguageModel, TuningMethod
from gpubench.api.llm_tuning import LLMTuning
from gpubench_workloads.llm_tuning.config import model_component

STANDARD_DEVIATION = 0.02
"""Of GPT-2 and of Llama's published code."""
OFFSET = 4096
"""Elements by which each tensor's part of the random numbers is shifted against the one before."""


def state_shapes(model: LanguageModel) -> dict[str, torch.Size]:
    """Return the shape of every weight of a model, by torchtune's names."""
    with torch.device("meta"):
        network = plain_model(model)
    return {name: weight.shape for name, weight in network.state_dict().items()}


def plain_model(model: LanguageModel) -> nn.Module:
    """Return a model without adapters, built as torchtune builds it."""
    from omegaconf import OmegaConf

    component = model_component(LLMTuning(model=model, method=TuningMethod.FULL))
    network: nn.Module = tune_config.instantiate(OmegaConf.create(component))
    return network


def random_state(model: LanguageModel, seed: int, dtype: torch.dtype) -> dict[str, Tensor]:
    """Return weights for a model: norms 1, all else normally distributed.

    All weights are parts of one stretch of random numbers, so that the model of true size takes
    little more memory than its largest matrix until it is on its device.
    """
    shapes = state_shapes(model)
    largest = max(shape.numel() for shape in shapes.values())
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.empty(largest + OFFSET * len(shapes), dtype=dtype)
    numbers.normal_(0.0, STANDARD_DEVIATION, generator=generator)
    state: dict[str, Tensor] = {}
    for place, (name, shape) in enumerate(shapes.items()):
        if len(shape) == 1:
            state[name] = torch.ones(shape, dtype=dtype)
        else:
            first = place * OFFSET
            state[name] = numbers[first : first + shape.numel()].view(shape)
    return state


def write_random_weights(path: Path, model: LanguageModel, seed: int) -> None:
    """Write weights into a file as torchtune's own checkpoints are, whole and independent."""
    state = random_state(model, seed, torch.float32)
    torch.save({name: weight.clone() for name, weight in state.items()}, path)


class RandomWeights:
    """Stands where a torchtune configuration names its checkpointer; reads nothing."""

    def __init__(
        self,
        model: str,
        seed: int,
        dtype: str,
        output_dir: str,
        model_type: str,
        should_load_recipe_state: bool = False,
    ) -> None:
        """Draw weights of `model` with `seed`; keep checkpoints below `output_dir`."""
        self._model = LanguageModel(model)
        self._seed = seed
        self._dtype = PRECISION_STR_TO_DTYPE[dtype]
        self._output = Path(output_dir)
        self._model_type = model_type
        assert not should_load_recipe_state, "a benchmark never goes on from a checkpoint"

    def load_checkpoint(self) -> dict[str, Any]:
        """Return the weights as a recipe expects them."""
        return {training.MODEL_KEY: random_state(self._model, self._seed, self._dtype)}

    def save_checkpoint(
        self,
        state_dict: dict[str, Any],
        epoch: int,
        intermediate_checkpoint: bool = False,
        adapter_only: bool = False,
    ) -> None:
        """Write what a torchtune checkpointer would write."""
        folder = self._output / f"epoch_{epoch}"
        folder.mkdir(parents=True, exist_ok=True)
        if not adapter_only:
            torch.save(state_dict[training.MODEL_KEY], folder / "model.pt")
        if training.ADAPTER_KEY in state_dict:
            torch.save(state_dict[training.ADAPTER_KEY], folder / "adapter_model.pt")
        if intermediate_checkpoint:
            kept = {
                key: value
                for key, value in state_dict.items()
                if key not in (training.MODEL_KEY, training.ADAPTER_KEY)
            }
            torch.save(kept, self._output / "recipe_state.pt")
