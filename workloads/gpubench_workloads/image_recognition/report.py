"""A rank's report and its table of steps."""

from __future__ import annotations

import platform
import resource
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import polars as pl
import torch
import torchvision

from gpubench.api.result import Quality, RankMemory
from gpubench_workloads.image_recognition.epochs import RunOutcome
from gpubench_workloads.image_recognition.pipelines import PIPELINES
from gpubench_workloads.image_recognition.plan import RunPlan
from gpubench_workloads.image_recognition.step_clock import StepRecord, mean_phases
from gpubench_workloads.reporting.rank_report import RankProfile, RankReport, rank_steps_path

STEP_COLUMNS = {
    "epoch": pl.Int32,
    "step": pl.Int32,
    "regular": pl.Boolean,
    "profiled": pl.Boolean,
    "steady": pl.Boolean,
    "iteration_seconds": pl.Float64,
    "data_seconds": pl.Float64,
    "host_to_device_seconds": pl.Float64,
    "compute_seconds": pl.Float64,
    "optimizer_seconds": pl.Float64,
    "samples": pl.Int32,
}


def build_report(plan: RunPlan, outcome: RunOutcome, profile: RankProfile | None) -> RankReport:
    """Return what this rank has to say about its run."""
    epochs = outcome.epochs
    return RankReport(
        rank=plan.ranks.rank,
        first_step_at=outcome.first_step_at,
        training_seconds=sum(epoch.seconds for epoch in epochs),
        evaluation_seconds=outcome.evaluation_seconds,
        epoch_seconds=[epoch.seconds for epoch in epochs],
        steps=len(outcome.records),
        warmup_steps=sum(not record.regular for record in outcome.records),
        samples_loaded=sum(epoch.samples_loaded for epoch in epochs),
        samples_trained=sum(epoch.samples_trained for epoch in epochs),
        dataset_samples=len(plan.data.train),
        epochs=len(epochs),
        phases=mean_phases(outcome.records),
        profile=profile,
        quality=_quality(plan, outcome),
        memory=_memory(plan),
        flops_per_sample=plan.flops_per_sample,
        device_name=_device_name(plan),
        device_uuids=[f"GPU-{torch.cuda.get_device_properties(i).uuid}" for i in _gpus(plan)],
        threads=plan.threads,
        software=_software(),
        dataset=plan.data.describe(),
        settings=_settings(plan, outcome),
    )


def write_steps(attempt_folder: Path, rank: int, records: Sequence[StepRecord]) -> None:
    """Write the rank's table of steps as `rank_steps_path` describes it."""
    names = [column.name for column in fields(StepRecord)]
    columns = {name: [getattr(record, name) for record in records] for name in names}
    table = pl.DataFrame(columns, schema=STEP_COLUMNS)
    path = rank_steps_path(attempt_folder, rank)
    path.parent.mkdir(parents=True, exist_ok=True)
    table.insert_column(0, pl.Series("rank", [rank] * len(table), pl.Int32)).write_parquet(path)


def _quality(plan: RunPlan, outcome: RunOutcome) -> Quality:
    losses = [epoch.loss for epoch in outcome.epochs]
    accuracies = outcome.accuracies
    return Quality(
        accuracy=accuracies[-1] if accuracies else None,
        test_samples=len(plan.data.test) if accuracies else 0,
        first_loss=losses[0],
        final_loss=losses[-1],
        epoch_losses=losses,
        epoch_accuracies=accuracies if len(accuracies) == len(losses) else [],
    )


def _memory(plan: RunPlan) -> RankMemory:
    gpus = _gpus(plan)
    # In kibibytes on Linux, in bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return RankMemory(
        rank=plan.ranks.rank,
        allocated_bytes=max(map(torch.cuda.max_memory_allocated, gpus), default=None),
        reserved_bytes=max(map(torch.cuda.max_memory_reserved, gpus), default=None),
        resident_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
    )


def _gpus(plan: RunPlan) -> list[int]:
    """Return the GPUs of this process: its own, or all of them for DataParallel."""
    if plan.ranks.device.type != "cuda":
        return []
    if plan.ranks.count < plan.spec.gpus:
        return list(range(plan.spec.gpus))
    return [plan.ranks.device.index]


def _device_name(plan: RunPlan) -> str:
    """Return the GPU's model; the supervisor knows the processor's."""
    gpus = _gpus(plan)
    return torch.cuda.get_device_name(gpus[0]) if gpus else ""


def _software() -> dict[str, str]:
    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torchvision": torchvision.__version__,
    }
    if torch.cuda.is_available():
        versions["cuda"] = str(torch.version.cuda)
        versions["cudnn"] = str(torch.backends.cudnn.version())
        versions["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    return versions


def _settings(plan: RunPlan, outcome: RunOutcome) -> dict[str, str]:
    """Return what the workload resolved by itself."""
    formats, workload = plan.formats, plan.workload
    casting = workload.effective_casting
    settings = {
        "casting": str(casting) if casting else "none",
        "weightsFormat": _name(formats.weights),
        "imagesFormat": _name(formats.images),
        "lossFormat": _name(formats.loss),
        "gradientScaling": str(formats.scales_gradients).lower(),
        "tf32": str(formats.tf32).lower(),
        "optimizer": outcome.optimizer,
        "backend": plan.ranks.backend or "none",
        "stepsPerEpoch": str(plan.strategy.steps),
        "fullStepsPerEpoch": str(plan.strategy.full_steps),
        "images": PIPELINES[workload.input_pipeline].describe(),
    }
    if plan.threads is None:
        settings["cudnnBenchmark"] = str(torch.backends.cudnn.benchmark).lower()
    else:
        settings["threads"] = str(plan.threads)
        if workload.pin_memory:
            settings["pinMemory"] = "without effect on a CPU"
    return settings


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
