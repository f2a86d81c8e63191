"""The one place that knows torchtune's recipes: loads a stock one and measures around it.

Recipes are no modules of a package: they are looked up in torchtune's registry and loaded from
their files as they are. A subclass, made here, hands the measurement what the recipe builds
(loader, optimizer, logger); the training loop itself is the recipe's own. To move to a successor
of torchtune, `load_recipe` and `measured` are what has to change (docs/llm-tuning.md).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torchtune
from torchtune import training
from torchtune._recipe_registry import get_all_recipes
from torchtune.recipe_interfaces import FTRecipeInterface
from tqdm import tqdm

from gpubench_workloads.llm_tuning.measurement import Measurement


def recipe_file(name: str) -> Path:
    """Return the file of a recipe by its name in torchtune's registry."""
    listed = {recipe.name: recipe.file_path for recipe in get_all_recipes()}
    file_path: str = listed[name]
    return Path(torchtune.__file__).parents[1] / "recipes" / file_path


def load_recipe(name: str) -> type[Any]:
    """Return the class of a stock recipe."""
    spec = importlib.util.spec_from_file_location(f"torchtune_recipe_{name}", recipe_file(name))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # One recipe joins the other ranks itself, which all have done already. A bar of progress is
    # nothing for a log; progress is told in a file.
    module.__dict__.update(
        init_process_group=lambda *_, **__: None, tqdm=partial(tqdm, disable=True)
    )
    (found,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and FTRecipeInterface in value.__mro__
        and value.__module__ == module.__name__
    )
    return found


def measured(recipe: type[Any], measurement: Measurement, *, pin_memory: bool) -> type[Any]:
    """Return a recipe's class that is measured and otherwise does what the recipe does."""

    class MeasuredRecipe(recipe):  # type: ignore[misc]  # a class that is only known here
        _metric_logger: Any

        def setup(self, cfg: Any) -> None:
            super().setup(cfg)
            if "_metric_logger" in vars(self):
                self._metric_logger = MeasuredLog(self._metric_logger, measurement)

        def _setup_optimizer(self, *arguments: Any, **named: Any) -> Any:
            optimizer = super()._setup_optimizer(*arguments, **named)
            measurement.watch_optimizer(optimizer)
            return optimizer

        def _setup_data(self, *arguments: Any, **named: Any) -> Any:
            made = super()._setup_data(*arguments, **named)
            # The recipes of DPO return their sampler, too.
            *before, loader = made if isinstance(made, tuple) else (made,)
            loader.pin_memory = pin_memory
            wrapped = MeasuredLoader(loader, measurement, self._tokenizer.pad_id)
            return (*before, wrapped) if before else wrapped

    return MeasuredRecipe


class MeasuredLoader:
    """A recipe's loader, each batch counted and already on the device when the recipe gets it."""

    def __init__(self, loader: Any, measurement: Measurement, padding_id: int) -> None:
        """Wrap `loader`."""
        self._loader = loader
        self._measurement = measurement
        self._padding_id = padding_id

    def __iter__(self) -> Iterator[Any]:
        return self._measurement.batches(self._loader, self._padding_id)

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class MeasuredLog:
    """A recipe's logger of metrics, which also tells the measurement each step's loss."""

    def __init__(self, logger: Any, measurement: Measurement) -> None:
        """Wrap `logger`."""
        self._logger = logger
        self._measurement = measurement

    def log_dict(self, payload: Mapping[str, Any], step: int) -> None:
        """Log the metrics of a step (from 1)."""
        self._logger.log_dict(payload, step)
        self._measurement.record_loss(payload, step)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logger, name)


def fit_to_cpu() -> None:
    """Give the recipes for several ranks what they ask of a device and a CPU does not have."""
    for name in ("empty_cache", "reset_peak_memory_stats"):
        if not hasattr(torch.cpu, name):
            setattr(torch.cpu, name, lambda *_: None)
    training.get_memory_stats = lambda *_, **__: {}
    training.log_memory_stats = lambda *_, **__: None
