"""One rank from its spec to its report."""

from __future__ import annotations

import sys
from pathlib import Path

from torch import nn

from gpubench.api.progress import Stage
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.image_recognition.epochs import run_epochs
from gpubench_workloads.image_recognition.model import small_batch_warning
from gpubench_workloads.image_recognition.plan import RunPlan
from gpubench_workloads.image_recognition.report import build_report
from gpubench_workloads.image_recognition.setup import (
    build_network,
    build_trainer,
    prepare_torch,
)
from gpubench_workloads.reporting.progress_writer import ProgressWriter
from gpubench_workloads.reporting.rank_report import write_rank_report
from gpubench_workloads.training.progress import TrainingProgress
from gpubench_workloads.training.ranks import joined, rank_number
from gpubench_workloads.training.step_table import write_step_table


def run_rank(spec_path: Path, attempt_folder: Path) -> None:
    """Do a rank's whole part of a run: train, evaluate, and leave report and table of steps.

    Raises:
        WorkloadError: the run cannot be done, and why.
    """
    spec = RunSpec.model_validate_json(spec_path.read_bytes())
    progress = TrainingProgress(ProgressWriter(attempt_folder, enabled=rank_number() == 0))
    progress.stage(Stage.STARTING)
    plan = RunPlan.make(spec)
    epochs = plan.workload.epochs
    progress.plan(epochs, epochs * plan.strategy.steps, plan.ranks.count)
    prepare_torch(plan)
    with joined(plan.ranks):
        network = build_network(plan)
        warn_of_small_batches(plan, network)
        trainer = build_trainer(plan, network, progress, attempt_folder)
        outcome = run_epochs(plan, trainer, network, progress)
    write_step_table(attempt_folder, plan.ranks.rank, outcome.records)
    write_rank_report(attempt_folder, build_report(plan, outcome, trainer.recording.report()))


def warn_of_small_batches(plan: RunPlan, network: nn.Module) -> None:
    """Print once for all ranks that batch normalisation will suffer, if it will."""
    warning = small_batch_warning(network, plan.strategy.smallest_batch, plan.workload.batch_size)
    if warning is not None and plan.ranks.rank == 0:
        print(warning, file=sys.stderr)
