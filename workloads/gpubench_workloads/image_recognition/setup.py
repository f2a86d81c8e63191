"""Setting up a rank: torch itself, the model, and all that a step needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler

from gpubench.api.base import to_decimal
from gpubench.api.enums import CompileMode
from gpubench_workloads.image_recognition.loss_watch import LossWatch
from gpubench_workloads.image_recognition.model import build_model
from gpubench_workloads.image_recognition.optimizers import build_optimizer
from gpubench_workloads.image_recognition.plan import RunPlan
from gpubench_workloads.image_recognition.precision import AutocastModel
from gpubench_workloads.image_recognition.training import Trainer
from gpubench_workloads.profiling.recording import Surroundings
from gpubench_workloads.profiling.start import build_recording
from gpubench_workloads.training.progress import TrainingProgress
from gpubench_workloads.training.step_clock import StepClock
from gpubench_workloads.training.timeline import timeline_of

COMPILE_MODES = {
    CompileMode.DEFAULT: "default",
    CompileMode.REDUCE_OVERHEAD: "reduce-overhead",
    CompileMode.MAX_AUTOTUNE: "max-autotune",
}


def prepare_torch(plan: RunPlan) -> None:
    """Set what torch keeps for the whole process."""
    if plan.threads is not None:
        torch.set_num_threads(plan.threads)
    plan.formats.apply_tf32()
    # All batches but the last of an epoch have one shape, for which cuDNN's fastest algorithm
    # is worth looking for.
    torch.backends.cudnn.benchmark = True


def build_network(plan: RunPlan) -> nn.Module:
    """Return the model on its device in its number format; all ranks draw the same weights."""
    torch.manual_seed(plan.workload.seed)
    model = build_model(plan.workload.model, plan.data.classes)
    model = model.to(plan.ranks.device, plan.formats.weights)
    model.to(memory_format=plan.memory_format)  # type: ignore[call-overload]  # torch's
    # From here on ranks differ: each drops out other activations.
    torch.manual_seed(plan.workload.seed + plan.ranks.rank)
    if plan.formats.autocast is None:
        return model
    return AutocastModel(model, plan.formats.autocast, plan.ranks.device.type)


def build_trainer(
    plan: RunPlan, network: nn.Module, progress: TrainingProgress, attempt_folder: Path
) -> Trainer:
    """Return all that a step needs; every rank must call this."""
    workload, device = plan.workload, plan.ranks.device
    model: Callable[[Tensor], Tensor] = plan.strategy.parallel(network, device)
    if workload.compile is not CompileMode.DISABLED:
        # Static, because an epoch's smaller last batch would make every batch's shape dynamic.
        model = torch.compile(model, mode=COMPILE_MODES[workload.compile], dynamic=False)
    return Trainer(
        ranks=plan.ranks,
        strategy=plan.strategy,
        pipeline=plan.build_pipeline(plan.data.train),
        model=model,
        formats=plan.formats,
        optimizer=build_optimizer(
            workload.optimizer,
            network.parameters(),
            float(to_decimal(workload.learning_rate)),
            plan.formats.epsilon,
            device,
        ),
        scaler=GradScaler(device.type, enabled=plan.formats.scales_gradients),
        clock=StepClock(timeline_of(device), workload.warmup_steps, plan.strategy.full_steps),
        recording=build_recording(
            plan.spec,
            attempt_folder,
            plan.ranks.rank,
            Surroundings(
                steps_per_epoch=plan.strategy.steps,
                epochs=workload.epochs,
                wait_for_device=plan.ranks.wait_for_device,
                wait_for_ranks=plan.ranks.meet,
            ),
        ),
        losses=LossWatch(plan.strategy.steps, device),
        progress=progress,
    )
