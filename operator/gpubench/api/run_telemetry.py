"""What DCGM saw on the GPUs of a run while it trained."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpubench.api.base import ApiModel
from gpubench.api.enums import EnergySource, TelemetryJoin

MAX_GPUS = 16
MAX_NOTES = 16
MAX_NOTE_LENGTH = 320
MAX_CODES = 16

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Watts = Annotated[float, Field(ge=0, le=1e6)]
Joules = Annotated[float, Field(ge=0, le=1e15)]
Megahertz = Annotated[float, Field(ge=0, le=1e5)]
ByteCount = Annotated[int, Field(ge=0, le=10**18)]
SampleCount = Annotated[int, Field(ge=0, le=10**9)]
Period = Annotated[float, Field(ge=0, le=1e9)]
Name = Annotated[str, Field(max_length=64)]


class GpuNumbers(ApiModel):
    """Numbers of a GPU, or of several together; what nobody told is left out.

    Of several, shares, power and clocks are means, energy and traffic are sums, memory and
    temperature are the highest.
    """

    utilization: Share | None = None
    """Share of time with a kernel running (DCGM_FI_DEV_GPU_UTIL)."""
    graphics_active: Share | None = None
    """Share of time with the compute or graphics engine active (DCGM_FI_PROF_GR_ENGINE_ACTIVE)."""
    sm_active: Share | None = None
    """Share of multiprocessors with work, over time (DCGM_FI_PROF_SM_ACTIVE)."""
    tensor_active: Share | None = None
    """Share of cycles with the tensor cores active (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE)."""
    dram_active: Share | None = None
    """Share of cycles with the memory moving data (DCGM_FI_PROF_DRAM_ACTIVE)."""
    memory_copy_utilization: Share | None = None
    """Share of time with memory being read or written (DCGM_FI_DEV_MEM_COPY_UTIL)."""
    memory_used_bytes: ByteCount | None = None
    """Most memory in use (DCGM_FI_DEV_FB_USED)."""
    power_watts: Watts | None = None
    """Mean power (DCGM_FI_DEV_POWER_USAGE)."""
    energy_joules: Joules | None = None
    """Energy over the window."""
    energy_error_joules: Joules | None = None
    """The true energy is no further from that, as long as power stayed within what was seen."""
    energy_source: EnergySource | None = None
    """Where the energy comes from."""
    temperature_celsius: Annotated[float, Field(ge=-273, le=1000)] | None = None
    """Highest temperature (DCGM_FI_DEV_GPU_TEMP)."""
    sm_clock_mhz: Megahertz | None = None
    """Mean clock of the multiprocessors (DCGM_FI_DEV_SM_CLOCK)."""
    memory_clock_mhz: Megahertz | None = None
    """Mean clock of the memory (DCGM_FI_DEV_MEM_CLOCK)."""
    throttle_reasons: Annotated[list[Name], Field(max_length=MAX_CODES)] = []
    """Reasons for which clocks were held down, by NVML's names; idle and settings left out."""
    pcie_receive_bytes: ByteCount | None = None
    """Bytes received over PCIe: mean rate times the window (DCGM_FI_PROF_PCIE_RX_BYTES)."""
    pcie_transmit_bytes: ByteCount | None = None
    """Bytes sent over PCIe: mean rate times the window (DCGM_FI_PROF_PCIE_TX_BYTES)."""
    nvlink_receive_bytes: ByteCount | None = None
    """Bytes received over NVLink: mean rate times the window (DCGM_FI_PROF_NVLINK_RX_BYTES)."""
    nvlink_transmit_bytes: ByteCount | None = None
    """Bytes sent over NVLink: mean rate times the window (DCGM_FI_PROF_NVLINK_TX_BYTES)."""
    xid_errors: Annotated[
        list[Annotated[int, Field(ge=0, le=100_000)]], Field(max_length=MAX_CODES)
    ] = []
    """XID errors that the driver reported during the attempt."""


class GpuTelemetry(GpuNumbers):
    """One GPU, or one MIG instance of it."""

    uuid: Name
    """The GPU."""
    instance: Name | None = None
    """GPU instance id, where the run had a MIG instance."""
    profile: Name | None = None
    """Profile of the MIG instance, such as 1g.10gb."""
    shared: bool = False
    """Whether others used the GPU at the same time: what cannot be told apart is left out."""
    samples: SampleCount
    """Samples in the window; one that the exporter showed again does not count again."""
    expected_samples: SampleCount
    """Samples that the exporter's refresh would give in the window."""


class RunTelemetry(GpuNumbers):
    """What DCGM saw on the run's GPUs over its training window, all of them together."""

    source: Literal["DCGM"] = "DCGM"
    """DCGM, by dcgm-exporter."""
    attempt: Annotated[int, Field(ge=1, le=999)]
    """The attempt that this is of."""
    joined_by: TelemetryJoin | None = None
    """How GPUs were found to be the run's; none where they were not, then notes say why."""
    final: bool = False
    """Whether the exporter was seen to refresh after the end; until then more may come."""
    window_seconds: Period = 0.0
    """Length of the window: training and the evaluation between."""
    refresh_seconds: Period | None = None
    """How often the exporter had new values, as observed."""
    samples: SampleCount = 0
    """Samples got, of all GPUs."""
    expected_samples: SampleCount = 0
    """Samples expected, of all GPUs."""
    coverage: Share = 0.0
    """Samples got over samples expected, and no more than the share of the window that was left
    when the exporter was first asked."""
    gpus: Annotated[list[GpuTelemetry], Field(max_length=MAX_GPUS)] = []
    """Each GPU."""
    notes: Annotated[
        list[Annotated[str, Field(max_length=MAX_NOTE_LENGTH)]], Field(max_length=MAX_NOTES)
    ] = []
    """Why something is missing, doubtful or different from what NVML saw in the pod."""
