"""GPUBenchmark: what a user applies, and what its status tells."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from gpubench.api.base import ApiModel, DnsName, cel_rules
from gpubench.api.enums import BenchmarkPhase, WorkloadKind
from gpubench.api.execution import Execution, Profiling, Results
from gpubench.api.image_recognition import ImageRecognition
from gpubench.api.llm_tuning import LLMTuning
from gpubench.api.sweep import GpuCount, Sweep


class Workload(ApiModel):
    """The training program and its parameters: exactly one of the two."""

    model_config = cel_rules(
        (
            "has(self.imageRecognition) != has(self.llmTuning)",
            "a workload is exactly one of imageRecognition and llmTuning",
        ),
    )

    image_recognition: ImageRecognition | None = None
    """Train an image classifier."""
    llm_tuning: LLMTuning | None = None
    """Tune a large language model."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.image_recognition is None) == (self.llm_tuning is None):
            msg = "a workload is exactly one of imageRecognition and llmTuning"
            raise ValueError(msg)
        return self

    @property
    def kind(self) -> WorkloadKind:
        """Which of the two it is."""
        if self.image_recognition is not None:
            return WorkloadKind.IMAGE_RECOGNITION
        return WorkloadKind.LLM_TUNING

    @property
    def parameters(self) -> ImageRecognition | LLMTuning:
        """The parameters of the one that it is."""
        chosen = self.image_recognition or self.llm_tuning
        assert chosen is not None
        return chosen


class GPUBenchmarkSpec(ApiModel):
    """What to measure."""

    workload: Workload
    """The training program and its parameters."""
    gpus: GpuCount = 1
    """GPUs per run, all on one node: the number of ranks (one process for DataParallel)."""
    sweep: Sweep = Sweep()
    """Which points to run."""
    execution: Execution = Execution()
    """How and where runs execute."""
    profiling: Profiling = Profiling()
    """What is profiled."""
    results: Results = Results()
    """Where results go and what makes them acceptable."""
    suspend: bool = False
    """While true no run starts and running ones are stopped; finished results stay."""


class Metadata(ApiModel):
    """The part of an object's metadata that gpubench reads."""

    model_config = {"extra": "allow"}

    name: DnsName
    """Name of the benchmark."""
    namespace: DnsName | None = None
    """Namespace of the benchmark on a cluster."""
    labels: dict[str, str] = {}
    """Labels."""
    annotations: dict[str, str] = {}
    """Annotations."""


class Condition(ApiModel):
    """A condition as Kubernetes writes it."""

    type: Annotated[str, Field(max_length=316)]
    """Accepted, Progressing, Complete, Failed or Degraded."""
    status: Literal["True", "False", "Unknown"]
    """Whether it holds."""
    reason: Annotated[str, Field(max_length=1024)]
    """One CamelCase word for machines."""
    message: Annotated[str, Field(max_length=32_768)]
    """A sentence that says what to do."""
    observed_generation: Annotated[int, Field(ge=0)] | None = None
    """Generation of the spec that it was judged on."""
    last_transition_time: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    """When the status last changed."""


class Progress(ApiModel):
    """How many runs are where; the five states add up to the total."""

    total: Annotated[int, Field(ge=0)] = 0
    """Runs of the sweep."""
    pending: Annotated[int, Field(ge=0)] = 0
    """Not started, or waiting for their next attempt."""
    running: Annotated[int, Field(ge=0)] = 0
    """With a live attempt."""
    succeeded: Annotated[int, Field(ge=0)] = 0
    """With a valid result."""
    invalid: Annotated[int, Field(ge=0)] = 0
    """With a result that failed a gate."""
    failed: Annotated[int, Field(ge=0)] = 0
    """Given up."""

    @property
    def finished(self) -> int:
        """Runs that need nothing more."""
        return self.succeeded + self.invalid + self.failed


Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class BestRun(ApiModel):
    """The valid run with the highest throughput."""

    run: DnsName
    """Name of the run."""
    throughput: Annotated[float, Field(ge=0)]
    """Samples per second."""


class GPUBenchmarkStatus(ApiModel):
    """Where the benchmark stands."""

    observed_generation: Annotated[int, Field(ge=0)] | None = None
    """Generation of the spec that this status speaks of."""
    phase: BenchmarkPhase = BenchmarkPhase.PENDING
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
    """Accepted, Progressing, Complete, Failed, Degraded."""
    progress: Progress = Progress()
    """How many runs are where."""
    runs: Annotated[str, Field(max_length=32)] | None = None
    """Finished runs of all, for people: 7/24."""
    start_time: Timestamp | None = None
    """When the first run started."""
    completion_time: Timestamp | None = None
    """When the last run finished."""
    estimated_completion_time: Timestamp | None = None
    """When the last run will finish if runs go on as they did."""
    gpu_seconds: Annotated[float, Field(ge=0)] | None = None
    """GPU time of all attempts so far."""
    best: BestRun | None = None
    """The fastest valid run."""


UNCHANGED_ONCE_STARTED = (
    "workload",
    "gpus",
    "profiling",
    "execution.image",
    "execution.isolation",
    "execution.device",
)
"""Fields of the spec that every point's hash covers."""


def _has(owner: str, field: str) -> str:
    """Return the CEL that tells whether a field and every object around it are there."""
    names = field.split(".")
    paths = [".".join((owner, "spec", *names[: depth + 1])) for depth in range(len(names))]
    return " && ".join(f"has({path})" for path in paths)


def _unchanged(field: str) -> str:
    """Return the CEL that holds where a field of the spec is what it was, present or not."""
    new, old = (_has(name, field) for name in ("self", "oldSelf"))
    return f"(({new}) == ({old}) && (!({new}) || self.spec.{field} == oldSelf.spec.{field}))"


class GPUBenchmark(ApiModel):
    """A sweep of training runs to measure."""

    model_config = cel_rules(
        *(
            (
                "!has(oldSelf.status) || !has(oldSelf.status.startTime) || " + _unchanged(field),
                f"spec.{field} cannot change once runs have started, because finished results "
                "would no longer be comparable; make a new benchmark",
                f".spec.{field}",
            )
            for field in UNCHANGED_ONCE_STARTED
        )
    )

    api_version: Literal["gpubench.io/v1alpha1"] = "gpubench.io/v1alpha1"
    """gpubench.io/v1alpha1."""
    kind: Literal["GPUBenchmark"] = "GPUBenchmark"
    """GPUBenchmark."""
    metadata: Metadata
    """Name, namespace, labels."""
    spec: GPUBenchmarkSpec
    """What to measure."""
    status: GPUBenchmarkStatus | None = None
    """Where the benchmark stands; written by gpubench."""

    @property
    def name(self) -> str:
        """The benchmark's name."""
        return self.metadata.name

    def to_manifest(self) -> dict[str, Any]:
        """Return the object as a manifest that can be applied."""
        return self.to_json_dict()
