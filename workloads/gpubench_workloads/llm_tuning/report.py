"""A rank's report and its table of steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import torch

from gpubench.api.result import Quality
from gpubench_workloads.llm_tuning.flops import tuning_flops
from gpubench_workloads.llm_tuning.measurement import Measurement
from gpubench_workloads.llm_tuning.plan import TuningPlan
from gpubench_workloads.reporting.rank_report import RankReport
from gpubench_workloads.training.process_facts import (
    gpu_name,
    gpu_uuids,
    peak_memory,
    software_versions,
)
from gpubench_workloads.training.ranks import Ranks
from gpubench_workloads.training.step_clock import mean_phases
from gpubench_workloads.training.step_table import write_step_table


def build_report(
    plan: TuningPlan, ranks: Ranks, measurement: Measurement, recipe: Any
) -> RankReport:
    """Return what this rank has to say about its run."""
    steps = measurement.steps
    gpus = [ranks.device.index] if _on_gpu(ranks) else []
    sequences = sum(step.sequences for step in steps)
    whole = plan.text.whole_over_used
    epoch_steps = int(
        len(recipe._dataloader) * whole / plan.workload.gradient_accumulation  # noqa: SLF001
    )
    dataset_rows = int(len(recipe._dataloader.dataset) * whole)  # noqa: SLF001
    complete = len(steps) >= epoch_steps * plan.workload.epochs
    return RankReport(
        rank=ranks.rank,
        first_step_at=measurement.first_step_at,
        training_seconds=sum(measurement.epoch_seconds),
        checkpoint_seconds=measurement.checkpoint_seconds,
        epoch_seconds=measurement.epoch_seconds,
        epoch_steps=epoch_steps,
        steps=len(steps),
        warmup_steps=sum(not record.regular for record in measurement.clock.records),
        samples_loaded=measurement.loaded_sequences,
        samples_trained=sequences,
        dataset_samples=dataset_rows,
        tokens_trained=sum(step.tokens for step in steps),
        padding_tokens=sum(step.padding for step in steps),
        epochs=plan.workload.epochs if complete else 0,
        phases=mean_phases(measurement.clock.records),
        profile=measurement.recording.report(),
        quality=_quality(plan, measurement),
        memory=peak_memory(ranks.rank, gpus),
        flops_per_sample=_flops(plan, measurement) / sequences if sequences else None,
        device_name=gpu_name(gpus),
        device_uuids=gpu_uuids(gpus),
        threads=None if _on_gpu(ranks) else torch.get_num_threads(),
        software=software_versions("torchtune", "torchao", "torchdata", "datasets"),
        dataset=_dataset(plan),
        settings=_settings(plan, ranks),
    )


def write_steps(attempt_folder: Path, rank: int, measurement: Measurement) -> None:
    """Write the rank's table of steps, with its tokens."""
    records, steps = measurement.clock.records, measurement.steps
    # That of all ranks, on the first alone.
    losses = [*measurement.losses] if measurement.losses else [None] * len(records)
    more = {
        "tokens": (pl.Int64, [step.tokens for step in steps]),
        "padding_tokens": (pl.Int64, [step.padding for step in steps]),
        "learned_tokens": (pl.Int64, [step.learned for step in steps]),
        "loss": (pl.Float64, losses),
    }
    write_step_table(attempt_folder, rank, records, more)


def _quality(plan: TuningPlan, measurement: Measurement) -> Quality | None:
    """Return the losses, those of one epoch's begin and end if it is the only one."""
    losses = measurement.losses
    if not losses:
        return None
    epochs = plan.workload.epochs
    per_epoch = len(losses) // epochs
    means = [_mean(losses[i * per_epoch : (i + 1) * per_epoch]) for i in range(epochs)]
    tenth = max(len(losses) // 10, 1)
    return Quality(
        first_loss=_mean(losses[:tenth]), final_loss=_mean(losses[-tenth:]), epoch_losses=means
    )


def _flops(plan: TuningPlan, measurement: Measurement) -> float:
    flops = tuning_flops(plan.architecture, plan.method, plan.workload.lora_rank)
    return sum(flops.of(step.tokens, step.attended) for step in measurement.steps)


def _dataset(plan: TuningPlan) -> dict[str, str]:
    """Return which text it was; how long it was is told by the counts of tokens."""
    described = {"name": str(plan.text.name), "source": str(plan.workload.dataset.source)}
    if plan.text.made_samples is not None:
        described["synthetic"] = f"{plan.text.made_samples} samples made here"
    return described


def _settings(plan: TuningPlan, ranks: Ranks) -> dict[str, str]:
    """Return what the workload resolved by itself."""
    settings = {
        "recipe": plan.recipe,
        "weights": plan.weights.described,
        "sequenceLength": str(plan.config["tokenizer"]["max_seq_len"]),
        "loss": plan.config["loss"]["_component_"].rpartition(".")[2],
        "backend": ("nccl" if _on_gpu(ranks) else "gloo") if plan.is_distributed else "none",
        "flops": "6 per tuned and 4 per frozen weight and token, 12 per layer, width and pair",
    }
    if not plan.method.warmup:
        settings["learningRate"] = "constant: torchtune's recipe has no schedule"
    if not _on_gpu(ranks) and plan.workload.pin_memory:
        settings["pinMemory"] = "without effect on a CPU"
    return settings


def _on_gpu(ranks: Ranks) -> bool:
    return ranks.device.type == "cuda"


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
