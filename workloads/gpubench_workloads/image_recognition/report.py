"""A rank's report and its table of steps."""

from __future__ import annotations

import torch

from gpubench.api.result import Quality
from gpubench_workloads.image_recognition.epochs import RunOutcome
from gpubench_workloads.image_recognition.pipelines import PIPELINES
from gpubench_workloads.image_recognition.plan import RunPlan
from gpubench_workloads.reporting.rank_report import RankProfile, RankReport
from gpubench_workloads.training.process_facts import (
    gpu_name,
    gpu_uuids,
    peak_memory,
    software_versions,
)
from gpubench_workloads.training.step_clock import mean_phases


def build_report(plan: RunPlan, outcome: RunOutcome, profile: RankProfile | None) -> RankReport:
    """Return what this rank has to say about its run."""
    epochs, gpus = outcome.epochs, _gpus(plan)
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
        memory=peak_memory(plan.ranks.rank, gpus),
        flops_per_sample=plan.flops_per_sample,
        device_name=gpu_name(gpus),
        device_uuids=gpu_uuids(gpus),
        threads=plan.threads,
        software=software_versions("torchvision"),
        dataset=plan.data.describe(),
        settings=_settings(plan, outcome),
    )


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


def _gpus(plan: RunPlan) -> list[int]:
    """Return the GPUs of this process: its own, or all of them for DataParallel."""
    if plan.ranks.device.type != "cuda":
        return []
    if plan.ranks.count < plan.spec.gpus:
        return list(range(plan.spec.gpus))
    return [plan.ranks.device.index]


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
