"""GPUBenchmarkRun: one execution of a point, and everything that became of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from gpubench.api.base import ApiModel, DnsName, cel_rules
from gpubench.api.benchmark import Condition, Metadata, Timestamp, Workload
from gpubench.api.compact import CompactResult
from gpubench.api.enums import AttemptState, FailureClass, GateName, RunPhase, ValidityStatus
from gpubench.api.run_telemetry import RunTelemetry
from gpubench.api.sweep import GpuCount

MAX_ATTEMPTS = 40
"""The first attempt, as many retries as `execution.retryLimit` allows, and those that nobody is to
blame for."""
MAX_MESSAGE_LENGTH = 1024

PointHash = Annotated[str, Field(pattern=r"^[a-z2-7]{10}$", max_length=10)]
JobName = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", max_length=54)]
Message = Annotated[str, Field(max_length=MAX_MESSAGE_LENGTH)]


class RunParameters(ApiModel):
    """What a run does."""

    workload: Workload
    """The training program with every parameter written out."""
    gpus: GpuCount
    """Ranks, or GPUs of DataParallel's one process."""


class GPUBenchmarkRunSpec(ApiModel):
    """Which point of which benchmark to run, and which repetition this is. It never changes."""

    model_config = cel_rules(
        ("self == oldSelf", "a run's spec cannot change; edit its benchmark instead"),
    )

    benchmark: DnsName
    """Name of the benchmark that the run belongs to."""
    point_hash: PointHash
    """Stable hash of what the run does."""
    parameters: RunParameters
    """What the run does."""
    repetition: Annotated[int, Field(ge=1, le=100)]
    """Which repetition of its point, from 1."""


class AttemptFailure(ApiModel):
    """Why an attempt failed."""

    failure_class: FailureClass
    """Decides whether the run is tried again."""
    message: Message
    """One line for a person."""


class Attempt(ApiModel):
    """One try at the run."""

    number: Annotated[int, Field(ge=1, le=999)]
    """Which try, from 1."""
    state: AttemptState
    """Where it stands."""
    job_name: JobName
    """Name of the Kubernetes job that executes it."""
    start_time: Timestamp | None = None
    """When its pod started; none while it waits."""
    completion_time: Timestamp | None = None
    """When it ended."""
    failure: AttemptFailure | None = None
    """Why it failed."""


class FailedGate(ApiModel):
    """A check that the result did not pass."""

    name: GateName
    """The check."""
    message: Message | None = None
    """What was looked at and found, where it is known."""


class RunValidity(ApiModel):
    """Whether the result may be used."""

    status: ValidityStatus
    """Valid if every gate passed."""
    failed_gates: Annotated[list[FailedGate], Field(max_length=32)] = []
    """The checks that did not pass."""


class RunTiming(ApiModel):
    """When the run happened and what it took; all attempts together."""

    start_time: Timestamp | None = None
    """When the first attempt's pod started."""
    completion_time: Timestamp | None = None
    """When the last attempt ended."""
    retry_time: Timestamp | None = None
    """When the next attempt starts, while the run waits for it."""
    gpu_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """GPU time of all attempts so far: seconds of each times its GPUs."""


class GPUBenchmarkRunStatus(ApiModel):
    """Where the run stands."""

    observed_generation: Annotated[int, Field(ge=0)] | None = None
    """Generation of the spec that this status speaks of."""
    phase: RunPhase = RunPhase.PENDING
    """One word."""
    conditions: Annotated[
        list[Condition],
        Field(
            max_length=16,
            json_schema_extra={
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            },
        ),
    ] = []
    """Complete, Failed."""
    attempt: Annotated[int, Field(ge=0, le=999)] = 0
    """Number of the latest attempt; 0 before the first."""
    attempts: Annotated[
        list[Attempt],
        Field(
            max_length=MAX_ATTEMPTS,
            json_schema_extra={
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["number"],
            },
        ),
    ] = []
    """Every try, the first one first."""
    timing: RunTiming = RunTiming()
    """When the run happened and what it took."""
    result: CompactResult | None = None
    """What the last attempt measured; the whole lies in the results folder."""
    telemetry: RunTelemetry | None = None
    """What DCGM saw on the run's GPUs; none where the operator knows no exporter."""
    validity: RunValidity | None = None
    """Whether the result may be used, by the benchmark's present acceptance rules."""


class GPUBenchmarkRun(ApiModel):
    """One execution of a point of a benchmark's sweep; gpubench creates it, nobody writes one."""

    api_version: Literal["gpubench.io/v1alpha1"] = "gpubench.io/v1alpha1"
    """gpubench.io/v1alpha1."""
    kind: Literal["GPUBenchmarkRun"] = "GPUBenchmarkRun"
    """GPUBenchmarkRun."""
    metadata: Metadata
    """Name, namespace, labels."""
    spec: GPUBenchmarkRunSpec
    """What to run."""
    status: GPUBenchmarkRunStatus = GPUBenchmarkRunStatus()
    """Where the run stands; written by gpubench once it begins."""

    @property
    def name(self) -> str:
        """The run's name."""
        return self.metadata.name

    def to_manifest(self) -> dict[str, Any]:
        """Return the object as a manifest that can be applied."""
        return self.to_json_dict()
