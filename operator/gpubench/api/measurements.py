"""What an attempt measures: the parts of a result, each of its own kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpubench.api.base import ApiModel
from gpubench.api.enums import DeviceKind

Count = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Ratio = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Device(ApiModel):
    """What the run trained on. A CPU's result can never be taken for a GPU's."""

    kind: DeviceKind
    """CPU or CUDA."""
    name: str
    """Model of the processor or GPU."""
    count: Annotated[int, Field(ge=1)]
    """GPUs used; on a CPU, ranks."""
    uuids: list[str] = []
    """UUIDs of the GPUs."""
    threads_per_rank: Count | None = None
    """Threads of each rank on a CPU."""


class Distribution(ApiModel):
    """A series of seconds in numbers; `std` is the sample's (n - 1)."""

    count: Count | None = None
    """Values; not known of a result that was read from a status."""
    mean: Amount
    """Arithmetic mean."""
    std: Amount
    """Sample standard deviation; 0 for a single value."""
    minimum: Amount | None = None
    """Smallest; not known of a result that was read from a status."""
    p50: Amount
    """Median."""
    p95: Amount
    """95th percentile."""
    p99: Amount
    """99th percentile."""
    maximum: Amount | None = None
    """Largest; not known of a result that was read from a status."""


class StepPhases(ApiModel):
    """Mean seconds of a steady step in each phase, on rank 0.

    On a GPU the data phase is the host's wait for the loader and the others are stretches of the
    GPU's own timeline, so that they may overlap with it; on a CPU all are wall-clock.
    """

    data_seconds: Amount
    """Waiting for the next batch."""
    host_to_device_seconds: Amount
    """Moving it to the device; for DeviceResident, resizing there."""
    compute_seconds: Amount
    """Forward and backward pass, communication of gradients included."""
    optimizer_seconds: Amount
    """Optimizer step."""


class Timing(ApiModel):
    """Where the time went."""

    setup_seconds: Amount
    """From the start of the processes to the first step."""
    training_seconds: Amount
    """All epochs, evaluation left out: the papers' total time."""
    evaluation_seconds: Amount
    """Evaluation on the test set."""
    checkpoint_seconds: Amount | None = None
    """Writing checkpoints (LLM tuning)."""
    total_seconds: Amount
    """From the attempt's start to its end."""
    epoch_seconds: list[Amount] = []
    """Training time of each epoch."""
    epoch_estimate_seconds: Amount | None = None
    """Time of a whole epoch at the steady-state mean (LLM tuning): iteration time times the steps
    of an epoch, checkpoints left out."""
    steps: Count
    """Optimizer steps."""
    warmup_steps: Count | None = None
    """Steps that the steady-state numbers leave out; not known of a result that was read from a
    status."""
    iteration: Distribution | None = None
    """Seconds per steady step, slowest rank at each step."""
    profiled: bool | None = None
    """Whether these are numbers of steps that a profiler slowed, because it left too few others."""
    phases: StepPhases | None = None
    """A steady step by phase."""


class Throughput(ApiModel):
    """Steady-state speed of all ranks together."""

    samples_per_second: Amount
    """Trained samples (images, sequences) per second, those that several ranks trained counted each
    time."""
    dataset_samples_per_second: Amount
    """Progress through the dataset per second: what a user waits for. Ranks that all train on the
    same samples count once."""
    tokens_per_second: Amount | None = None
    """Real tokens per second, padding left out (LLM tuning)."""


class Work(ApiModel):
    """What was done, exactly counted; one entry per rank (one in all for DataParallel)."""

    samples_loaded: list[Count]
    """Samples that each rank loaded and moved to its device."""
    samples_trained: list[Count]
    """Samples that each rank trained on."""
    dataset_samples: Count
    """Samples of the training set."""
    tokens_trained: list[Count] = []
    """Real tokens that each rank trained on (LLM tuning)."""
    padding_tokens: list[Count] = []
    """Tokens that only filled each rank's sequences up."""
    epochs: Count
    """Completed epochs."""


class Quality(ApiModel):
    """Whether it learned."""

    accuracy: Ratio | None = None
    """Share of the test set that is classified correctly."""
    test_samples: Count | None = None
    """Size of the test set; not known of a result that was read from a status."""
    first_loss: Finite | None = None
    """Mean training loss of the first epoch; LLM tuning: of the first tenth of all steps."""
    final_loss: Finite | None = None
    """Mean training loss of the last epoch; LLM tuning: of the last tenth of all steps."""
    epoch_losses: list[Finite] = []
    """Mean training loss of each epoch."""
    epoch_accuracies: list[Ratio] = []
    """Accuracy after each epoch, where it was asked for."""


class RankMemory(ApiModel):
    """Peak memory of one rank."""

    rank: Count
    """The rank."""
    allocated_bytes: Count | None = None
    """Most that tensors took on the GPU at once."""
    reserved_bytes: Count | None = None
    """Most that the allocator held on the GPU at once."""
    resident_bytes: Count | None = None
    """Most main memory of the process."""


class Efficiency(ApiModel):
    """Arithmetic done, from the cost of the model."""

    flops_per_sample: Amount
    """Floating-point operations of one sample's forward and backward pass (multiply and add are
    two), counted on the model itself by torch.utils.flop_counter; LLM tuning: by the formula in
    docs/llm-tuning.md."""
    flops_per_second: Amount
    """Rate of all ranks in steady state."""
    peak_flops_per_second: Amount | None = None
    """The devices' dense peak at this precision by the vendor's data sheet; none if not known."""
    mfu: Amount | None = None
    """Model FLOPs utilisation: rate over peak."""


class DeviceTelemetry(ApiModel):
    """What one GPU did while the run trained."""

    uuid: str
    """The GPU; `all` where the numbers are of all GPUs together, as in a status."""
    samples: Count | None = None
    """Samples got; not known of a result that was read from a status."""
    expected_samples: Count | None = None
    """Samples expected at the sampling period; not known of a result that was read from a status.
    """
    utilization_mean: Ratio | None = None
    """Share of time with a kernel running."""
    sm_active_mean: Ratio | None = None
    """Share of multiprocessors active, where a source gives it."""
    memory_used_peak_bytes: Count | None = None
    """Most memory in use."""
    power_mean_watts: Amount | None = None
    """Mean power."""
    energy_joules: Amount | None = None
    """Energy over the training."""
    temperature_max_celsius: Finite | None = None
    """Highest temperature."""
    sm_clock_mean_mhz: Amount | None = None
    """Mean clock of the multiprocessors."""
    throttle_reasons: list[str] = []
    """Reasons for which clocks were held down, by NVML's names; idle and user settings left out."""
    pcie_receive_bytes: Count | None = None
    """Bytes received over PCIe."""
    pcie_transmit_bytes: Count | None = None
    """Bytes sent over PCIe."""
    nvlink_bytes: Count | None = None
    """Bytes over NVLink."""
    foreign_processes: list[int] = []
    """Processes of others seen on the GPU."""


class Telemetry(ApiModel):
    """What the GPUs did."""

    source: Literal["NVML", "DCGM"] | None = None
    """Where the numbers come from; not known of a result that was read from a status."""
    devices: list[DeviceTelemetry]
    """One entry per GPU."""
