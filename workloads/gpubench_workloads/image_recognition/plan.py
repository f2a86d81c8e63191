"""RunPlan: all that is decided before the ranks meet, so that mistakes show in seconds."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gpubench.api.enums import CompileMode, MemoryFormat, Strategy
from gpubench.api.image_recognition import ImageRecognition
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.image_recognition.datasets import ImageData, Split, load_dataset
from gpubench_workloads.image_recognition.model import count_flops_per_sample
from gpubench_workloads.image_recognition.pipelines import (
    PIPELINES,
    ImageFormat,
    InputPipeline,
    PipelineSettings,
)
from gpubench_workloads.image_recognition.precision import NumberFormats
from gpubench_workloads.image_recognition.strategies import Strategy as RankStrategy
from gpubench_workloads.image_recognition.strategies import build_strategy
from gpubench_workloads.training.errors import BadSpecError
from gpubench_workloads.training.ranks import Ranks, rank_number, rank_threads, this_rank

MEMORY_FORMATS = {
    MemoryFormat.CONTIGUOUS: torch.contiguous_format,
    MemoryFormat.CHANNELS_LAST: torch.channels_last,
}


@dataclass(frozen=True)
class RunPlan:
    """What this rank is to do, checked as far as that goes without training."""

    spec: RunSpec
    workload: ImageRecognition
    ranks: Ranks
    data: ImageData
    strategy: RankStrategy
    formats: NumberFormats
    flops_per_sample: float
    threads: int | None
    """Threads of a rank on a CPU; None on a GPU, where they hardly matter."""

    @classmethod
    def make(cls, spec: RunSpec) -> RunPlan:
        """Read the dataset and check everything that the spec asks for.

        Raises:
            WorkloadError: something cannot be as the spec asks for it.
        """
        workload = spec.workload.image_recognition
        assert workload is not None, "the supervisor starts each workload's own program"
        check_compilation(workload)
        data = load_dataset(spec)
        strategy = build_strategy(
            workload.strategy,
            images=len(data.train),
            batch_size=workload.batch_size,
            gpus=spec.gpus,
            rank=rank_number(),
            seed=workload.seed,
        )
        return cls(
            spec=spec,
            workload=workload,
            ranks=this_rank(spec.device, spec.gpus, strategy.ranks),
            data=data,
            strategy=strategy,
            formats=NumberFormats.of(workload),
            flops_per_sample=count_flops_per_sample(
                workload.model, data.classes, workload.image_size, strategy.smallest_batch
            ),
            threads=rank_threads(spec, strategy.ranks),
        )

    @property
    def memory_format(self) -> torch.memory_format:
        """The order of a batch's dimensions in memory."""
        return MEMORY_FORMATS[self.workload.memory_format]

    def build_pipeline(self, split: Split) -> InputPipeline:
        """Return the pipeline that loads a split of the dataset."""
        image_format = ImageFormat(
            size=self.workload.image_size,
            mean=self.data.mean,
            std=self.data.std,
            dtype=self.formats.images,
            memory_format=self.memory_format,
        )
        settings = PipelineSettings(
            image_format=image_format,
            device=self.ranks.device,
            batch_size=self.strategy.loaded_batch_size,
            workers=self.workload.workers,
            pin_memory=self.workload.pin_memory,
        )
        return PIPELINES[self.workload.input_pipeline](split, settings)


def check_compilation(workload: ImageRecognition) -> None:
    """Check that the strategy can be compiled.

    Raises:
        BadSpecError: it cannot.
    """
    if workload.compile is CompileMode.DISABLED or workload.strategy is not Strategy.DATA_PARALLEL:
        return
    msg = (
        f"compile: {workload.compile} does not go with strategy: DataParallel, which torch.compile "
        "cannot compile; allowed: compile: Disabled, or strategy DDP, DDP-RR or DDP-DS"
    )
    raise BadSpecError(msg)
