"""A run's weights and tokenizer: found, or made here. No torch until something is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench.api.enums import LanguageModel, WeightsSource
from gpubench.api.llm_tuning import LLMTuning
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.llm_tuning.made_tokenizer import (
    SPECIAL_TOKENS_FILE,
    TOKENIZER_FILE,
    write_special_tokens,
    write_tokenizer,
)
from gpubench_workloads.llm_tuning.models import ARCHITECTURES
from gpubench_workloads.training.errors import DataMissingError

MADE_WEIGHTS_FILE = "model.pt"
RANDOM_CHECKPOINTER = "gpubench_workloads.llm_tuning.random_weights.RandomWeights"


@dataclass(frozen=True)
class Weights:
    """Where the weights and the tokenizer of a run come from."""

    checkpointer: dict[str, Any]
    """As a torchtune configuration names it, but for its output folder."""
    tokenizer: dict[str, Any]
    """Likewise."""
    described: str
    """For a person."""
    made_in: Path | None = None
    """The folder into which a tokenizer is to be written; None if it is there."""
    makes_weights: bool = False
    """Whether weights are to be written there, too."""

    def make(self, model: LanguageModel, seed: int) -> None:
        """Write what is to be made; the same for the same seed."""
        if self.made_in is None:
            return
        self.made_in.mkdir(parents=True, exist_ok=True)
        write_tokenizer(self.made_in)
        if model is LanguageModel.TINY_LLAMA:
            write_special_tokens(self.made_in)
        if self.makes_weights:
            from gpubench_workloads.llm_tuning.random_weights import write_random_weights

            write_random_weights(self.made_in / MADE_WEIGHTS_FILE, model, seed)


def plan_weights(spec: RunSpec, workload: LLMTuning, scratch: Path) -> Weights:
    """Return where a run's weights come from; what is to be made goes below `scratch`.

    Raises:
        DataMissingError: they are not there, or not of the model.
    """
    model, chosen = workload.model, workload.weights
    kind = ARCHITECTURES[model].checkpoint_type
    made = scratch / "model"
    if chosen.source is WeightsSource.RANDOM:
        return Weights(
            checkpointer={
                "_component_": RANDOM_CHECKPOINTER,
                "model": str(model),
                "seed": workload.seed,
                "dtype": workload.precision.lower(),
                "model_type": kind,
            },
            tokenizer=_made_tokenizer(model, made),
            described="random",
            made_in=made,
        )
    if model is LanguageModel.TINY_LLAMA and chosen.path is None:
        return Weights(
            checkpointer=_checkpointer("FullModelTorchTuneCheckpointer", made, kind),
            tokenizer=_made_tokenizer(model, made),
            described="made by gpubench",
            made_in=made,
            makes_weights=True,
        )
    from gpubench_workloads.llm_tuning.checkpoint_files import find_checkpoint

    folder = Path(spec.data_root) / (chosen.path or str(model))
    found = find_checkpoint(folder, model)
    return Weights(
        checkpointer=_checkpointer(found.checkpointer, found.folder, kind, found.files),
        tokenizer={
            "_component_": f"torchtune.models.{ARCHITECTURES[model].tokenizer}",
            "path": str(found.tokenizer),
        },
        described=f"{found.folder.name}: {', '.join(found.files)}",
    )


def _checkpointer(
    component: str, folder: Path, kind: str, files: tuple[str, ...] = (MADE_WEIGHTS_FILE,)
) -> dict[str, Any]:
    return {
        "_component_": f"torchtune.training.{component}",
        "checkpoint_dir": str(folder),
        "checkpoint_files": list(files),
        "recipe_checkpoint": None,
        "model_type": kind,
    }


def _made_tokenizer(model: LanguageModel, folder: Path) -> dict[str, Any]:
    architecture = ARCHITECTURES[model]
    if model is LanguageModel.LLAMA2_7B:
        # Its tokenizer is sentencepiece's, whose files only sentencepiece writes.
        msg = (
            "weights.source: Random makes no tokenizer of Llama 2; allowed: the Llama 3 models, "
            "or weights.source: Folder"
        )
        raise DataMissingError(msg)
    component: dict[str, Any] = {
        "_component_": f"torchtune.models.{architecture.tokenizer}",
        "path": str(folder / TOKENIZER_FILE),
    }
    if model is LanguageModel.TINY_LLAMA:
        component["special_tokens_path"] = str(folder / SPECIAL_TOKENS_FILE)
    return component
