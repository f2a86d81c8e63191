"""What is decided before the ranks meet: recipe, configuration, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpubench_workloads.llm_tuning.plan import TuningPlan
from gpubench_workloads.training.errors import WorkloadError
from tests.unit.llm_tuning.specs import tuning_spec


def plan(folder: Path, *, gpus: int = 1, **fields: Any) -> TuningPlan:
    return TuningPlan.make(tuning_spec(gpus=gpus, **fields), folder)


def refusal(folder: Path, **fields: Any) -> str:
    with pytest.raises(WorkloadError) as caught:
        plan(folder, **fields)
    return str(caught.value)


@pytest.mark.parametrize(
    ("method", "alone", "together"),
    [
        ("LoRA", "lora_finetune_single_device", "lora_finetune_distributed"),
        ("QLoRA", "lora_finetune_single_device", "lora_finetune_distributed"),
        ("Full", "full_finetune_single_device", "full_finetune_distributed"),
        ("DPO", "full_dpo_distributed", "full_dpo_distributed"),
        ("LoRA-DPO", "lora_dpo_single_device", "lora_dpo_distributed"),
        ("QAT", "qat_distributed", "qat_distributed"),
        ("QAT-LoRA", "qat_lora_finetune_distributed", "qat_lora_finetune_distributed"),
    ],
)
def test_one_rank_runs_the_single_device_recipe_where_there_is_one(
    tmp_path: Path, method: str, alone: str, together: str
) -> None:
    assert plan(tmp_path, method=method).recipe == alone
    assert plan(tmp_path, method=method, gpus=2).recipe == together


def test_the_spec_is_in_the_configuration(tmp_path: Path) -> None:
    config = plan(
        tmp_path,
        model="llama3-8b",
        weights={"source": "Random"},
        method="QLoRA",
        dataset={"name": "samsum", "source": "Synthetic"},
        precision="BF16",
        gradientAccumulation=4,
        activationCheckpointing="Full",
        compile="Default",
        packed=True,
        loraRank=16,
        loraAlpha=32,
        maxSteps=3,
    ).config
    assert config["model"]["_component_"] == "torchtune.models.llama3.lora_llama3_8b"
    assert config["model"]["quantize_base"] is True
    assert (config["model"]["lora_rank"], config["model"]["lora_alpha"]) == (16, 32)
    assert config["dataset"]["_component_"] == "torchtune.datasets.samsum_dataset"
    assert config["dataset"]["packed"] is True
    assert config["tokenizer"]["max_seq_len"] == 128
    assert config["dtype"] == "bf16"
    assert config["optimizer"]["lr"] == 0.003
    assert config["gradient_accumulation_steps"] == 4
    assert config["enable_activation_checkpointing"] is True
    assert config["compile"] is True
    assert config["max_steps_per_epoch"] == 3
    assert config["lr_scheduler"]["num_warmup_steps"] == 2


def test_sequences_are_as_long_as_the_model_reads_unless_told_otherwise(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"model": "llama3-8b", "sequenceLength": None}
    fields["weights"] = {"source": "Random"}
    assert plan(tmp_path, **fields).config["tokenizer"]["max_seq_len"] == 8192


def test_what_does_not_go_together_is_refused_in_one_line(tmp_path: Path) -> None:
    assert refusal(tmp_path, method="DPO", dataset={"name": "samsum", "source": "Synthetic"}) == (
        "dataset.name: samsum does not go with method: DPO; allowed: preference"
    )
    assert refusal(tmp_path, dataset={"name": "preference", "source": "Synthetic"}) == (
        "dataset.name: preference does not go with method: LoRA; "
        "allowed: alpaca-cleaned, grammar, samsum, slimorca"
    )
    assert refusal(tmp_path, method="LoRA-DPO", packed=True).startswith("packed: true does not go")
    assert refusal(tmp_path, method="QAT", compile="Default").startswith("compile: Default does")
    assert refusal(tmp_path, sequenceLength=4096) == (
        "sequenceLength: 4096 is longer than tiny-llama reads; allowed: at most 1024"
    )
    assert refusal(
        tmp_path, dataset={"name": "grammar", "source": "Synthetic"}, maxSteps=None
    ).endswith("grammar has 185000000; set maxSteps, or dataset.samples")


def test_text_is_made_for_the_steps_that_use_it(tmp_path: Path) -> None:
    text = plan(
        tmp_path, dataset={"name": "alpaca-cleaned", "source": "Synthetic"}, gpus=2, maxSteps=9
    ).text
    assert text.made_samples == 10 * 2 * 2
    assert text.whole_over_used == 51_760 / 40
