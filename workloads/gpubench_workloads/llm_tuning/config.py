"""From a plan to a torchtune configuration: plain values that `tune run` would take as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpubench.api.base import to_decimal
from gpubench.api.enums import (
    ActivationCheckpointing,
    CompileMode,
    DeviceKind,
    LanguageModel,
)
from gpubench.api.llm_tuning import LLMTuning
from gpubench_workloads.llm_tuning.methods import ADAPTED_MODULES, METHODS, Method
from gpubench_workloads.llm_tuning.models import ARCHITECTURES, Architecture
from gpubench_workloads.llm_tuning.text import Text
from gpubench_workloads.llm_tuning.weights import Weights

WEIGHT_DECAY = 0.01
"""Of torchtune's configurations of Llama 3."""
QUANTIZATION_GROUP = 256
"""Weights that share a scale in quantization-aware training, as in torchtune's configurations."""
CHUNKED_LOSS = "torchtune.modules.loss.CEWithChunkedOutputLoss"
DPO_BETA = 0.1
"""Of torchtune's configurations of DPO."""


def compose(
    workload: LLMTuning, device: DeviceKind, weights: Weights, text: Text, output: Path
) -> dict[str, Any]:
    """Return the configuration of a run's recipe, with checkpoints and log below `output`."""
    method = METHODS[workload.method]
    checkpointer = {**weights.checkpointer, "output_dir": str(output)}
    config: dict[str, Any] = {
        "output_dir": str(output),
        "model": model_component(workload),
        "tokenizer": {**weights.tokenizer, "max_seq_len": sequence_length(workload)},
        "checkpointer": checkpointer,
        "resume_from_checkpoint": False,
        "dataset": _dataset(workload, method, text),
        "seed": workload.seed,
        "shuffle": True,
        "batch_size": workload.batch_size,
        "optimizer": {
            "_component_": "torch.optim.AdamW",
            "fused": True,
            "weight_decay": WEIGHT_DECAY,
            "lr": float(to_decimal(workload.learning_rate)),
        },
        "loss": _loss(method),
        "epochs": workload.epochs,
        "max_steps_per_epoch": workload.max_steps,
        "gradient_accumulation_steps": workload.gradient_accumulation,
        "compile": workload.compile is not CompileMode.DISABLED,
        "metric_logger": {
            "_component_": "torchtune.training.metric_logging.DiskLogger",
            "log_dir": str(output / "logs"),
            "filename": "log.txt",
        },
        "log_every_n_steps": 1,
        # Asking for it starts the count of the peak anew; it is measured around the recipe.
        "log_peak_memory_stats": False,
        "device": "cpu" if device is DeviceKind.CPU else "cuda",
        "dtype": workload.precision.lower(),
        "enable_activation_checkpointing": (
            workload.activation_checkpointing is ActivationCheckpointing.FULL
        ),
        "enable_activation_offloading": False,
    }
    config.update(_of_method(workload, method, checkpointer))
    return config


def sequence_length(workload: LLMTuning) -> int:
    """Return the longest sequence in tokens."""
    return workload.sequence_length or ARCHITECTURES[workload.model].longest_sequence


def model_component(workload: LLMTuning) -> dict[str, Any]:
    """Return the model as a torchtune configuration names it."""
    architecture, method = ARCHITECTURES[workload.model], METHODS[workload.method]
    prefix = f"torchtune.models.{architecture.package}."
    component: dict[str, Any] = {"_component_": prefix + architecture.builder}
    if method.adapters:
        component = {
            "_component_": f"{prefix}lora_{architecture.builder}",
            "lora_attn_modules": list(ADAPTED_MODULES),
            "apply_lora_to_mlp": True,
            "lora_rank": workload.lora_rank,
            "lora_alpha": workload.lora_alpha,
            "lora_dropout": 0.0,
        }
        # A tied output projection has no weights of its own to adapt.
        if not architecture.tied_embeddings:
            component["apply_lora_to_output"] = False
    if method.quantized_base:
        component["quantize_base"] = True
    if workload.model is LanguageModel.TINY_LLAMA:
        component.update(_tiny_shape(architecture))
    return component


def _tiny_shape(architecture: Architecture) -> dict[str, Any]:
    """Return what torchtune's general builder is told; the others know it themselves."""
    return {
        "vocab_size": architecture.vocabulary,
        "num_layers": architecture.layers,
        "num_heads": architecture.heads,
        "num_kv_heads": architecture.key_value_heads,
        "embed_dim": architecture.width,
        "max_seq_len": architecture.longest_sequence,
        "intermediate_dim": architecture.feed_forward,
    }


def _dataset(workload: LLMTuning, method: Method, text: Text) -> dict[str, Any]:
    component = text.component()
    if not method.preference:
        component["packed"] = workload.packed
    return component


def _loss(method: Method) -> dict[str, Any]:
    if method.preference:
        return {
            "_component_": "torchtune.rlhf.loss.DPOLoss",
            "beta": DPO_BETA,
            "label_smoothing": 0,
        }
    return {"_component_": CHUNKED_LOSS}


def _of_method(workload: LLMTuning, method: Method, checkpointer: dict[str, Any]) -> dict[str, Any]:
    """Return what only some methods' recipes know."""
    config: dict[str, Any] = {}
    if method.adapters:
        config["save_adapter_weights_only"] = True
    else:
        config["optimizer_in_bwd"] = False
    if method.warmup:
        config["lr_scheduler"] = {
            "_component_": "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup",
            "num_warmup_steps": workload.warmup_steps,
        }
    if method.quantization_aware:
        config["quantizer"] = {
            "_component_": "torchtune.training.quantization.Int8DynActInt4WeightQATQuantizer",
            "groupsize": QUANTIZATION_GROUP,
        }
    if method.reference_model:
        config["ref_checkpointer"] = dict(checkpointer)
    return config
