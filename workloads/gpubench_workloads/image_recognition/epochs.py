"""All epochs of a rank, and the evaluations between or after them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from torch import nn

from gpubench.api.enums import Evaluation
from gpubench.api.progress import Stage
from gpubench_workloads.image_recognition.evaluation import Evaluator
from gpubench_workloads.image_recognition.optimizers import describe_optimizer
from gpubench_workloads.image_recognition.plan import RunPlan
from gpubench_workloads.image_recognition.training import (
    EpochOutcome,
    Trainer,
    require_finite_weights,
)
from gpubench_workloads.training.progress import TrainingProgress
from gpubench_workloads.training.step_clock import StepRecord


@dataclass
class RunOutcome:
    """What a rank did in all its epochs."""

    first_step_at: float
    """Seconds since 1970."""
    optimizer: str
    """The optimizer and its settings."""
    epochs: list[EpochOutcome] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    """After each epoch that was evaluated."""
    evaluation_seconds: float = 0.0
    records: list[StepRecord] = field(default_factory=list)


def run_epochs(
    plan: RunPlan, trainer: Trainer, network: nn.Module, progress: TrainingProgress
) -> RunOutcome:
    """Train all epochs, and evaluate where the spec asks for it.

    Raises:
        NonFiniteLossError: training diverged.
    """
    workload = plan.workload
    evaluator = Evaluator(
        lambda: plan.build_pipeline(plan.data.test), len(plan.data.test), plan.ranks
    )
    plan.ranks.wait_for_all()
    outcome = RunOutcome(
        first_step_at=time.time(),
        optimizer=describe_optimizer(trainer.optimizer),
        records=trainer.clock.records,
    )
    for epoch in range(1, workload.epochs + 1):
        progress.begin_epoch(epoch)
        outcome.epochs.append(trainer.train_epoch(epoch))
        last = epoch == workload.epochs
        if workload.evaluation is Evaluation.EVERY_EPOCH or (
            workload.evaluation is Evaluation.AT_END and last
        ):
            progress.stage(Stage.EVALUATING)
            started = time.perf_counter()
            outcome.accuracies.append(evaluator.accuracy(network))
            outcome.evaluation_seconds += time.perf_counter() - started
    require_finite_weights(network)
    progress.stage(Stage.FINISHING)
    return outcome
