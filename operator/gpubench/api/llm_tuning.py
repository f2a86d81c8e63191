"""The LLM-tuning workload, as a spec gives it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gpubench.api.base import ApiModel, DecimalString, cel_rules
from gpubench.api.enums import (
    ActivationCheckpointing,
    CompileMode,
    DatasetName,
    LanguageModel,
    Precision,
    TextSource,
    TuningMethod,
    WeightsSource,
)
from gpubench.api.image_recognition import DatasetPath

TextDatasetName = Literal[
    DatasetName.ALPACA_CLEANED,
    DatasetName.GRAMMAR,
    DatasetName.SAMSUM,
    DatasetName.SLIMORCA,
    DatasetName.PREFERENCE,
]


class TextDataset(ApiModel):
    """The text that a run tunes on."""

    name: TextDatasetName = DatasetName.ALPACA_CLEANED
    """Dataset and template, as torchtune publishes them; `preference` is for DPO."""
    source: TextSource = TextSource.FOLDER
    """`Folder`: the published files. `Synthetic`: text made here with the same distribution of
    lengths, marked synthetic in the result."""
    path: DatasetPath | None = None
    """Folder of the dataset below the data root. By default the dataset's own name."""
    samples: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    """Tune on the first samples only; `Synthetic`: make so many. By default all."""


class Weights(ApiModel):
    """Where the model's weights and tokenizer come from."""

    source: WeightsSource = WeightsSource.FOLDER
    """`Folder`: a checkpoint. `Random`: initialised at the true size, for speed without a licence.
    """
    path: DatasetPath | None = None
    """Folder of the checkpoint below the data root. By default the model's own name."""


class LLMTuning(ApiModel):
    """Tune a Llama with torchtune; the defaults are those of Lawenda et al. (2025), section 4."""

    model_config = cel_rules(
        (
            "self.precision in ['BF16', 'FP32']",
            "torchtune offers precision BF16 and FP32",
            ".precision",
        ),
        (
            "self.compile in ['Disabled', 'Default']",
            "torchtune offers compile Disabled and Default",
            ".compile",
        ),
        (
            "!has(self.maxSteps) || self.epochs == 1",
            "maxSteps ends within the first epoch, so it goes with epochs 1",
            ".maxSteps",
        ),
    )

    model: LanguageModel = LanguageModel.LLAMA3_8B
    """What is tuned; tiny-llama is made by the project itself, weights and tokenizer."""
    method: TuningMethod = TuningMethod.LORA
    """What is tuned and how."""
    dataset: TextDataset = TextDataset()
    """The text."""
    weights: Weights = Weights()
    """The checkpoint."""
    batch_size: Annotated[int, Field(ge=1, le=65_536)] = 2
    """Sequences per GPU and micro-batch."""
    gradient_accumulation: Annotated[int, Field(ge=1, le=4096)] = 1
    """Micro-batches per optimizer step."""
    sequence_length: Annotated[int, Field(ge=16, le=131_072)] | None = None
    """Longest sequence in tokens; longer ones are cut. By default the model's own limit."""
    packed: bool = False
    """Whether several samples share one sequence, so that no padding is computed."""
    precision: Precision = Precision.BF16
    """BF16 or FP32, as torchtune offers."""
    pin_memory: bool = False
    """Whether the DataLoader places batches in page-locked memory."""
    activation_checkpointing: ActivationCheckpointing = ActivationCheckpointing.FULL
    """Trade compute for memory in the backward pass."""
    compile: CompileMode = CompileMode.DISABLED
    """Disabled or Default: torch.compile of the model and the loss."""
    learning_rate: DecimalString = "3e-4"
    """Peak learning rate."""
    warmup_steps: Annotated[int, Field(ge=0, le=1_000_000)] = 100
    """Steps of the learning rate's rise; steady-state timing leaves out at most ten of them."""
    epochs: Annotated[int, Field(ge=1, le=1000)] = 1
    """Passes over the dataset."""
    max_steps: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    """Stop after this many optimizer steps of the one epoch, whose time is then predicted."""
    lora_rank: Annotated[int, Field(ge=1, le=1024)] = 8
    """Rank of the LoRA adapters."""
    lora_alpha: Annotated[int, Field(ge=1, le=4096)] = 16
    """Scaling of the LoRA adapters."""
    seed: Annotated[int, Field(ge=0, le=2_147_483_647)] = 0
    """Seed of adapters and shuffling."""

    @model_validator(mode="after")
    def _check_choices(self) -> Self:
        if self.precision not in (Precision.BF16, Precision.FP32):
            msg = f"precision: {self.precision} is not offered by torchtune; allowed: BF16, FP32"
            raise ValueError(msg)
        if self.compile not in (CompileMode.DISABLED, CompileMode.DEFAULT):
            msg = f"compile: {self.compile} is not offered by torchtune; allowed: Disabled, Default"
            raise ValueError(msg)
        if self.max_steps is not None and self.epochs != 1:
            msg = (
                f"maxSteps: {self.max_steps} ends within the first epoch; "
                f"it goes with epochs: 1, not epochs: {self.epochs}"
            )
            raise ValueError(msg)
        return self
