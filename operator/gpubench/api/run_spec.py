"""RunSpec: everything that a run's process is given, in one file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpubench.api.base import ApiModel, DnsName
from gpubench.api.benchmark import Workload
from gpubench.api.enums import DeviceKind
from gpubench.api.execution import AcceptanceRule, Profiling
from gpubench.api.sweep import GpuCount

RUN_SPEC_VERSION = 1


class RunIdentity(ApiModel):
    """Which attempt of which run of which benchmark."""

    benchmark: DnsName
    """Name of the benchmark."""
    run: DnsName
    """Name of the run: benchmark, point hash, repetition."""
    point_hash: Annotated[str, Field(pattern=r"^[a-z2-7]{10}$")]
    """Stable hash of what the run does."""
    repetition: Annotated[int, Field(ge=1, le=100)]
    """Which repetition of its point."""
    attempt: Annotated[int, Field(ge=1, le=999)]
    """Which try at the run."""


class Limits(ApiModel):
    """Deadlines that the supervisor enforces."""

    timeout_seconds: Annotated[int, Field(ge=1)] = 86_400
    """Longest time of the attempt."""
    no_progress_seconds: Annotated[int, Field(ge=1)] = 1800
    """Longest time without a finished step."""


class RunSpec(ApiModel):
    """What a run's process is given; the same on one machine and in a pod."""

    schema_version: Literal[1] = 1
    """Version of this form."""
    identity: RunIdentity
    """Which attempt this is."""
    workload: Workload
    """The training program and its parameters."""
    gpus: GpuCount
    """Ranks, or GPUs of the one process of DataParallel."""
    device: DeviceKind
    """What to train on."""
    threads_per_rank: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Processor threads of each rank on a CPU; by default the cores divided by the ranks."""
    data_root: str = "."
    """Folder below which relative dataset paths lie."""
    profiling: Profiling = Profiling()
    """What is profiled."""
    acceptance: list[AcceptanceRule] = []
    """Bounds that the result must keep."""
    limits: Limits = Limits()
    """Deadlines."""
