"""RankReport: what one rank measured, handed to the supervisor as a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from gpubench.api.base import ApiModel
from gpubench.api.enums import FailureClass
from gpubench.api.layout import RANKS_FOLDER
from gpubench.api.result import Amount, Count, Quality, RankMemory, StepPhases
from gpubench_workloads.reporting.atomic_file import write_atomically


class RankFailure(ApiModel):
    """Why a rank gave up, in its own words."""

    failure_class: FailureClass
    """What kind of failure it knows this to be."""
    message: str
    """One line for a person."""


class ProfileSource(StrEnum):
    """Who takes a profile."""

    NSYS = "Nsys"
    """Nsight Systems, around the rank."""
    KINETO = "Kineto"
    """torch.profiler, in the rank: where there is no nsys."""


class RankProfile(ApiModel):
    """What a rank's profile covers, as the rank itself knows it."""

    source: ProfileSource
    """Who took it."""
    first_step: Count | None = None
    """First step of its window; none if the window never opened."""
    steps: Count = 0
    """Steps of its window."""
    seconds: Amount = 0.0
    """Length of its window."""
    note: str | None = None
    """What the window lacks of what was asked for, and what would help."""


class RankReport(ApiModel):
    """What one rank did. Counts are its own; quality is that of the whole model (rank 0's)."""

    rank: Count
    """The rank."""
    failure: RankFailure | None = None
    """Why it gave up; none if it trained to its end."""
    first_step_at: Annotated[float, Field(ge=0)] | None = None
    """When its first step began, seconds since the epoch."""
    training_seconds: Amount = 0.0
    """All epochs, evaluation left out."""
    evaluation_seconds: Amount = 0.0
    """Evaluation."""
    checkpoint_seconds: Amount = 0.0
    """Writing checkpoints."""
    epoch_seconds: list[Amount] = []
    """Training time of each epoch."""
    epoch_steps: Count | None = None
    """Steps of a whole epoch, where a run may end before."""
    steps: Count = 0
    """Optimizer steps."""
    warmup_steps: Count = 0
    """Steps that are not regular: the warm-up asked for, the first of each epoch, and those that a
    profiler disturbed by starting or stopping."""
    samples_loaded: Count = 0
    """Samples loaded and moved to the device."""
    samples_trained: Count = 0
    """Samples trained on."""
    dataset_samples: Count = 0
    """Samples of the training set."""
    tokens_trained: Count | None = None
    """Real tokens trained on."""
    padding_tokens: Count | None = None
    """Tokens that only filled sequences up."""
    epochs: Count = 0
    """Completed epochs."""
    phases: StepPhases | None = None
    """Its mean steady step by phase."""
    profile: RankProfile | None = None
    """What its profile covers; none if none was asked for."""
    quality: Quality | None = None
    """Losses and accuracy."""
    memory: RankMemory | None = None
    """Its peak memory."""
    flops_per_sample: Amount | None = None
    """Counted floating-point operations of one sample's forward and backward pass."""
    device_name: str = ""
    """Model of its processor or GPU."""
    device_uuids: list[str] = []
    """UUIDs of its GPUs."""
    threads: Count | None = None
    """Its threads on a CPU."""
    software: dict[str, str] = {}
    """Versions it ran with."""
    dataset: dict[str, str] = {}
    """Name, sizes and content hash of its dataset."""
    settings: dict[str, str] = {}
    """What it resolved by itself."""


def rank_report_path(attempt_folder: Path, rank: int) -> Path:
    """Return where a rank's report lies."""
    return attempt_folder / RANKS_FOLDER / f"rank-{rank}.json"


def rank_steps_path(attempt_folder: Path, rank: int) -> Path:
    """Return where a rank's table of steps lies (Parquet).

    Columns: rank, epoch, step (from 1), regular, profiled, steady, iteration_seconds, data_seconds,
    host_to_device_seconds, compute_seconds, optimizer_seconds, samples. LLM tuning adds tokens,
    padding_tokens, learned_tokens and loss.
    """
    return attempt_folder / RANKS_FOLDER / f"steps-{rank}.parquet"


def write_rank_report(attempt_folder: Path, report: RankReport) -> None:
    """Put a rank's report where its supervisor looks for it."""
    text = report.model_dump_json(by_alias=True, exclude_none=True)
    write_atomically(rank_report_path(attempt_folder, report.rank), text)


def read_rank_report(attempt_folder: Path, rank: int) -> RankReport | None:
    """Return a rank's report, None if it wrote none."""
    path = rank_report_path(attempt_folder, rank)
    if not path.exists():
        return None
    return RankReport.model_validate_json(path.read_text())
