"""A rank's report and its table of steps."""

from __future__ import annotations

import platform
import resource
import sys
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
import torch

from gpubench.api.result import Quality, RankMemory
from gpubench_workloads.image_recognition.ranks import Ranks
from gpubench_workloads.image_recognition.report import STEP_COLUMNS
from gpubench_workloads.image_recognition.step_clock import StepRecord, mean_phases
from gpubench_workloads.llm_tuning.flops import tuning_flops
from gpubench_workloads.llm_tuning.measurement import Measurement
from gpubench_workloads.llm_tuning.plan import TuningPlan
from gpubench_workloads.reporting.rank_report import RankReport, rank_steps_path

TOKEN_COLUMNS = {
    "tokens": pl.Int64,
    "padding_tokens": pl.Int64,
    "learned_tokens": pl.Int64,
    "loss": pl.Float64,
}
"""What the table of steps has besides; the loss is that of all ranks and stands on the first."""


def build_report(
    plan: TuningPlan, ranks: Ranks, measurement: Measurement, recipe: Any
) -> RankReport:
    """Return what this rank has to say about its run."""
    steps = measurement.steps
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
        memory=_memory(ranks),
        flops_per_sample=_flops(plan, measurement) / sequences if sequences else None,
        device_name=torch.cuda.get_device_name(ranks.device) if _on_gpu(ranks) else "",
        device_uuids=[f"GPU-{torch.cuda.get_device_properties(ranks.device).uuid}"]
        if _on_gpu(ranks)
        else [],
        threads=None if _on_gpu(ranks) else torch.get_num_threads(),
        software=_software(),
        dataset=_dataset(plan),
        settings=_settings(plan, ranks),
    )


def write_steps(attempt_folder: Path, rank: int, measurement: Measurement) -> None:
    """Write the rank's table of steps as `rank_steps_path` describes it, with its tokens."""
    records = measurement.clock.records
    names = [column.name for column in fields(StepRecord)]
    columns: dict[str, list[Any]] = {name: [getattr(r, name) for r in records] for name in names}
    columns["tokens"] = [step.tokens for step in measurement.steps]
    columns["padding_tokens"] = [step.padding for step in measurement.steps]
    columns["learned_tokens"] = [step.learned for step in measurement.steps]
    columns["loss"] = [*measurement.losses] if measurement.losses else [None] * len(records)
    table = pl.DataFrame(columns, schema={**STEP_COLUMNS, **TOKEN_COLUMNS})
    path = rank_steps_path(attempt_folder, rank)
    path.parent.mkdir(parents=True, exist_ok=True)
    table.insert_column(0, pl.Series("rank", [rank] * len(table), pl.Int32)).write_parquet(path)


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


def _memory(ranks: Ranks) -> RankMemory:
    # In kibibytes on Linux, in bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    on_gpu = _on_gpu(ranks)
    return RankMemory(
        rank=ranks.rank,
        allocated_bytes=torch.cuda.max_memory_allocated(ranks.device) if on_gpu else None,
        reserved_bytes=torch.cuda.max_memory_reserved(ranks.device) if on_gpu else None,
        resident_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
    )


def _software() -> dict[str, str]:
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    for package in ("torchtune", "torchao", "torchdata", "datasets"):
        versions[package] = version(package)
    if torch.cuda.is_available():
        versions["cuda"] = str(torch.version.cuda)
        versions["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    return versions


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
