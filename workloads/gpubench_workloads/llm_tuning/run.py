"""One rank from its spec to its report."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import torch
from omegaconf import OmegaConf
from torch import distributed as dist

from gpubench.api.layout import RECIPE_FILE
from gpubench.api.progress import Stage
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.llm_tuning.measurement import Measurement
from gpubench_workloads.llm_tuning.memory_estimate import check_memory
from gpubench_workloads.llm_tuning.plan import TuningPlan
from gpubench_workloads.llm_tuning.recipe import fit_to_cpu, load_recipe, measured
from gpubench_workloads.llm_tuning.report import build_report, write_steps
from gpubench_workloads.profiling.recording import Surroundings
from gpubench_workloads.profiling.start import build_recording
from gpubench_workloads.reporting.atomic_file import write_atomically
from gpubench_workloads.reporting.progress_writer import ProgressWriter
from gpubench_workloads.reporting.rank_report import write_rank_report
from gpubench_workloads.training.progress import TrainingProgress
from gpubench_workloads.training.ranks import (
    SILENCE,
    Ranks,
    rank_number,
    rank_threads,
    this_rank,
)
from gpubench_workloads.training.step_clock import StepClock
from gpubench_workloads.training.timeline import timeline_of


def run_rank(spec_path: Path, attempt_folder: Path) -> None:
    """Do a rank's whole part of a run: tune, and leave report and table of steps.

    Raises:
        WorkloadError: the run cannot be done, and why.
    """
    spec = RunSpec.model_validate_json(spec_path.read_bytes())
    progress = TrainingProgress(ProgressWriter(attempt_folder, enabled=rank_number() == 0))
    progress.stage(Stage.STARTING)
    plan = TuningPlan.make(spec, attempt_folder)
    ranks = this_rank(spec.device, spec.gpus, spec.gpus)
    threads = rank_threads(spec, ranks.count)
    if threads is not None:
        torch.set_num_threads(threads)
        fit_to_cpu()
    check_memory(plan.workload, ranks.count, *memory_of(ranks))
    with process_group(plan, ranks):
        if ranks.rank == 0:
            prepare(plan, attempt_folder)
        ranks.wait_for_all()
        measurement = Measurement(
            device=ranks.device,
            # The loaders drop a last batch that is smaller, so that all steps are full.
            clock=StepClock(timeline_of(ranks.device), plan.warmup_steps, full_steps=sys.maxsize),
            progress=progress,
        )
        recipe = tune(plan, ranks, measurement, attempt_folder)
        ranks.wait_for_all()
        if ranks.rank == 0:
            shutil.rmtree(plan.scratch)
    write_steps(attempt_folder, ranks.rank, measurement)
    write_rank_report(attempt_folder, build_report(plan, ranks, measurement, recipe))


def memory_of(ranks: Ranks) -> tuple[float, str]:
    """Return the bytes that a rank may take, and of what."""
    if ranks.device.type == "cuda":
        _, total = torch.cuda.mem_get_info(ranks.device)
        return total, torch.cuda.get_device_name(ranks.device)
    return psutil.virtual_memory().available / ranks.count, "main memory that is free for it"


@contextmanager
def process_group(plan: TuningPlan, ranks: Ranks) -> Iterator[None]:
    """Join the other ranks while the context lasts, as the recipes for several ranks expect it.

    They do so for one rank, too. After an error the group is not taken down, which could wait for
    ranks that are gone: the process ends, and that is what tells the others.
    """
    if not plan.is_distributed:
        yield
        return
    on_gpu = ranks.device.type == "cuda"
    dist.init_process_group(
        # Also for tensors on the CPU, as torchtune has it: counts and checkpoints travel there.
        "cuda:nccl,cpu:gloo" if on_gpu else "gloo",
        timeout=SILENCE,
        device_id=ranks.device if on_gpu else None,
    )
    yield
    ranks.wait_for_all()
    dist.destroy_process_group()


def prepare(plan: TuningPlan, attempt_folder: Path) -> None:
    """Write the configuration, and make what is to be made; the first rank does it for all."""
    text = OmegaConf.to_yaml(OmegaConf.create(plan.config))
    launcher = f" --nproc_per_node {plan.spec.gpus}" if plan.is_distributed else ""
    header = f"# tune run{launcher} {plan.recipe} --config {RECIPE_FILE}\n"
    write_atomically(attempt_folder / RECIPE_FILE, header + text)
    plan.scratch.mkdir(exist_ok=True)
    plan.text.make(plan.workload.seed)
    plan.weights.make(plan.workload.model, plan.workload.seed)


def tune(plan: TuningPlan, ranks: Ranks, measurement: Measurement, attempt_folder: Path) -> Any:
    """Run the recipe to its end and return it."""
    config = OmegaConf.create(plan.config)
    stock = load_recipe(plan.recipe)
    recipe = measured(stock, measurement, pin_memory=plan.workload.pin_memory)(config)
    recipe.setup(config)
    steps_per_epoch = recipe._steps_per_epoch  # noqa: SLF001 - recipes offer it nowhere else
    measurement.progress.plan(
        plan.workload.epochs, plan.workload.epochs * steps_per_epoch, ranks.count
    )
    surroundings = Surroundings(
        steps_per_epoch=steps_per_epoch,
        epochs=plan.workload.epochs,
        wait_for_device=ranks.wait_for_device,
        wait_for_ranks=ranks.meet,
    )
    measurement.recording = build_recording(plan.spec, attempt_folder, ranks.rank, surroundings)
    if ranks.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(ranks.device)
    recipe.train()
    ranks.wait_for_device()
    measurement.finish()
    measurement.progress.stage(Stage.FINISHING)
    return recipe
