"""How and where runs execute, how they are profiled and where results go."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gpubench.api.base import (
    AS_SET,
    ApiModel,
    DecimalString,
    DnsName,
    cel_rules,
    refuse_duplicates,
)
from gpubench.api.enums import (
    AcceptanceMetric,
    Backend,
    Cleanup,
    DeviceKind,
    ImagePullPolicy,
    Isolation,
    KeepReports,
    NsysMode,
    NsysTrace,
)

LabelValue = Annotated[str, Field(max_length=63)]
LabelKey = Annotated[str, Field(max_length=317)]
Quantity = Annotated[
    str, Field(pattern=r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$", max_length=24)
]


class Toleration(ApiModel):
    """A taint that pods tolerate, as in a pod's spec."""

    key: LabelKey | None = None
    """Key of the taint; none means every key."""
    operator: Literal["Exists", "Equal"] = "Equal"
    """How the value is compared."""
    value: LabelValue | None = None
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Effect of the taint; none means every effect."""


class Placement(ApiModel):
    """Which nodes may run the pods."""

    node_selector: Annotated[dict[LabelKey, LabelValue], Field(max_length=32)] = {}
    """Labels that the node must have."""
    tolerations: Annotated[list[Toleration], Field(max_length=16)] = []
    """Taints that the pods tolerate beside that of GPU nodes."""


class Resources(ApiModel):
    """What each pod asks for beside its GPUs."""

    cpu: Quantity | None = None
    """Processor cores; by default eight per GPU."""
    memory: Quantity | None = None
    """Main memory; by default 32Gi per GPU."""
    shared_memory: Quantity = "8Gi"
    """Size of /dev/shm, which DataLoader workers and NCCL use."""


class Execution(ApiModel):
    """How runs execute. On one machine, the fields about Kubernetes are not used."""

    backend: Backend = Backend.PYTORCH_JOB
    """The Kubernetes object that executes a run."""
    device: DeviceKind | None = None
    """What to train on. By default `CUDA` on a cluster; on one machine its GPUs, or its processor
    where there are none. On a cluster pods for `CPU` ask for processor cores and no GPUs."""
    data_volume_claim: DnsName | None = None
    """PersistentVolumeClaim with datasets, mounted to be read only; relative dataset paths lie
    below its root."""
    image: Annotated[str, Field(min_length=1, max_length=512)] | None = None
    """Image of the workload; by default the operator's setting."""
    image_pull_policy: ImagePullPolicy = ImagePullPolicy.IF_NOT_PRESENT
    """When a node pulls the image."""
    image_pull_secrets: Annotated[list[DnsName], Field(max_length=8)] = []
    """Names of pull secrets in the benchmark's namespace."""
    placement: Placement = Placement()
    """Which nodes may run the pods."""
    resources: Resources = Resources()
    """What each pod asks for beside its GPUs."""
    priority_class_name: DnsName | None = None
    """Priority of the pods."""
    queue_name: DnsName | None = None
    """Kueue LocalQueue that admits the jobs."""
    parallelism: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Runs at the same time at most; by default as many as GPUs and isolation allow."""
    isolation: Isolation = Isolation.EXCLUSIVE_NODE
    """`ExclusiveNode`: a run has its node to itself, so that runs do not disturb each other.
    `Shared`: runs are packed by free GPUs."""
    timeout_seconds: Annotated[int, Field(ge=1, le=2_592_000)] = 86_400
    """Longest time of one attempt, from its start."""
    no_progress_seconds: Annotated[int, Field(ge=5, le=86_400)] = 1800
    """Longest time without a finished step (set-up, compilation and evaluation included)."""
    retry_limit: Annotated[int, Field(ge=0, le=10)] = 2
    """Further attempts of a run after a failure that may pass by itself."""
    retry_backoff_seconds: Annotated[int, Field(ge=0, le=3600)] = 10
    """Wait before the first retry; doubles with each further one."""
    failure_budget: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Failed runs that are put up with; one more, and no further run starts. By default no limit.
    """
    cleanup: Cleanup = Cleanup.ON_SUCCESS
    """Which finished jobs are deleted once their result is recorded."""


class NsysProfiling(ApiModel):
    """Nsight Systems around every rank."""

    model_config = cel_rules(
        (
            "self.mode != 'Window' || has(self.steps) != has(self.durationSeconds)",
            "mode Window needs either steps or durationSeconds",
            ".mode",
        ),
        (
            "!has(self.delaySeconds) || has(self.durationSeconds)",
            "delaySeconds goes with durationSeconds",
            ".delaySeconds",
        ),
    )

    mode: NsysMode = NsysMode.DISABLED
    """`Disabled` (not Off, which YAML reads as false), `Window`: the steps or seconds given below;
    `Whole`: the whole training."""
    warmup_steps: Annotated[int, Field(ge=0, le=1_000_000)] = 10
    """Steps before a window of steps, and before the unprofiled stretch that it is compared with.
    """
    steps: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Length of a window in steps."""
    delay_seconds: Annotated[int, Field(ge=0, le=604_800)] | None = None
    """Seconds before a window of seconds."""
    duration_seconds: Annotated[int, Field(ge=1, le=604_800)] | None = None
    """Length of a window in seconds; the paper's is 720."""
    trace: Annotated[
        list[NsysTrace],
        Field(min_length=1, max_length=8, json_schema_extra=AS_SET),
        AfterValidator(refuse_duplicates),
    ] = [NsysTrace.CUDA, NsysTrace.NVTX, NsysTrace.CUDNN, NsysTrace.CUBLAS]
    """What is traced."""
    keep_reports: KeepReports = KeepReports.ON_FAILURE
    """Which reports stay in the results folder after they are reduced."""

    @model_validator(mode="after")
    def _check_window(self) -> Self:
        if self.mode is NsysMode.WINDOW and (self.steps is None) == (self.duration_seconds is None):
            msg = "mode Window needs either steps or durationSeconds"
            raise ValueError(msg)
        if self.delay_seconds is not None and self.duration_seconds is None:
            msg = "delaySeconds goes with durationSeconds"
            raise ValueError(msg)
        return self


class Profiling(ApiModel):
    """What is profiled."""

    nsys: NsysProfiling = NsysProfiling()
    """Nsight Systems."""


class AcceptanceRule(ApiModel):
    """A bound that a result must keep to be valid."""

    model_config = cel_rules(
        ("has(self.atLeast) || has(self.atMost)", "a rule needs atLeast, atMost or both"),
    )

    metric: AcceptanceMetric
    """`accuracy` (0 to 1), `finalLoss`, `throughput` (samples per second) or `iterationSeconds`
    (mean)."""
    at_least: DecimalString | None = None
    """Smallest accepted value, in quotes."""
    at_most: DecimalString | None = None
    """Largest accepted value, in quotes."""

    @model_validator(mode="after")
    def _check_bounds(self) -> Self:
        if self.at_least is None and self.at_most is None:
            msg = "a rule needs atLeast, atMost or both"
            raise ValueError(msg)
        return self


class Results(ApiModel):
    """Where results go and what makes them acceptable."""

    volume_claim: DnsName | None = None
    """PersistentVolumeClaim for results folders on a cluster."""
    baseline: DnsName | None = None
    """Benchmark of the same namespace to compare with."""
    acceptance: Annotated[list[AcceptanceRule], Field(max_length=16)] = []
    """Bounds that a result must keep; one that does not is invalid."""
