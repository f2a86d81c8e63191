"""Which DCGM fields are read, in which unit they come, and which values they can have.

Names are those of dcgm-exporter's counters files; a new field is one line of `FIELDS`. Units and
meanings: NVIDIA's "Field Identifiers" of the DCGM API.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

MEBIBYTE = 2.0**20


class Kind(StrEnum):
    """How two samples of a field become one."""

    MEAN = "mean"
    PEAK = "peak"
    LAST = "last"
    """A counter: the later one counts."""
    BITS = "bits"
    """A set of reasons: those of both."""


class Field(StrEnum):
    """What is measured, in SI units and shares of 1."""

    UTILIZATION = "utilization"
    GRAPHICS_ACTIVE = "graphics_active"
    SM_ACTIVE = "sm_active"
    TENSOR_ACTIVE = "tensor_active"
    DRAM_ACTIVE = "dram_active"
    MEMORY_COPY_UTILIZATION = "memory_copy_utilization"
    MEMORY_USED = "memory_used_bytes"
    MEMORY_FREE = "memory_free_bytes"
    POWER = "power_watts"
    ENERGY = "energy_joules"
    TEMPERATURE = "temperature_celsius"
    SM_CLOCK = "sm_clock_mhz"
    MEMORY_CLOCK = "memory_clock_mhz"
    THROTTLE_REASONS = "throttle_reasons"
    PCIE_RECEIVE = "pcie_receive_bytes_per_second"
    PCIE_TRANSMIT = "pcie_transmit_bytes_per_second"
    NVLINK_RECEIVE = "nvlink_receive_bytes_per_second"
    NVLINK_TRANSMIT = "nvlink_transmit_bytes_per_second"
    XID = "xid"
    """The last XID error since the driver was loaded; 0 before the first."""


@dataclass(frozen=True)
class FieldSpec:
    """A counter of the exporter."""

    field: Field
    scale: float = 1.0
    """From the exporter's unit to ours."""
    low: float = 0.0
    high: float = math.inf
    """Smallest and largest value, in our unit, that the field can have."""
    kind: Kind = Kind.MEAN

    def value(self, told: float) -> float | None:
        """Return a value in our unit, None if it is none that a GPU can have."""
        value = told * self.scale
        return value if self.low <= value <= self.high else None


# Profiling counters are ratios of two readings and may be a little above 1.
_RATIO_HIGH = 1.05
_MOST_BYTES = 2.0**50
_MOST_BYTES_PER_SECOND = 1e13

FIELDS = {
    "DCGM_FI_DEV_GPU_UTIL": FieldSpec(Field.UTILIZATION, 0.01, high=1.0),
    "DCGM_FI_DEV_MEM_COPY_UTIL": FieldSpec(Field.MEMORY_COPY_UTILIZATION, 0.01, high=1.0),
    "DCGM_FI_DEV_FB_USED": FieldSpec(Field.MEMORY_USED, MEBIBYTE, high=_MOST_BYTES, kind=Kind.PEAK),
    "DCGM_FI_DEV_FB_FREE": FieldSpec(Field.MEMORY_FREE, MEBIBYTE, high=_MOST_BYTES, kind=Kind.LAST),
    "DCGM_FI_DEV_POWER_USAGE": FieldSpec(Field.POWER, high=1e5),
    # Millijoules since the driver was loaded.
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": FieldSpec(
        Field.ENERGY, 1e-3, high=1e13, kind=Kind.LAST
    ),
    "DCGM_FI_DEV_GPU_TEMP": FieldSpec(Field.TEMPERATURE, low=-50.0, high=250.0, kind=Kind.PEAK),
    "DCGM_FI_DEV_SM_CLOCK": FieldSpec(Field.SM_CLOCK, high=2e4),
    "DCGM_FI_DEV_MEM_CLOCK": FieldSpec(Field.MEMORY_CLOCK, high=2e4),
    "DCGM_FI_DEV_XID_ERRORS": FieldSpec(Field.XID, high=1e5, kind=Kind.LAST),
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": FieldSpec(
        Field.THROTTLE_REASONS, high=2.0**32 - 1, kind=Kind.BITS
    ),
    # The same under its name since DCGM 3.3.
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": FieldSpec(
        Field.THROTTLE_REASONS, high=2.0**32 - 1, kind=Kind.BITS
    ),
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": FieldSpec(Field.GRAPHICS_ACTIVE, high=_RATIO_HIGH),
    "DCGM_FI_PROF_SM_ACTIVE": FieldSpec(Field.SM_ACTIVE, high=_RATIO_HIGH),
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": FieldSpec(Field.TENSOR_ACTIVE, high=_RATIO_HIGH),
    "DCGM_FI_PROF_DRAM_ACTIVE": FieldSpec(Field.DRAM_ACTIVE, high=_RATIO_HIGH),
    # Rates, whatever type the counters file gives them.
    "DCGM_FI_PROF_PCIE_RX_BYTES": FieldSpec(Field.PCIE_RECEIVE, high=_MOST_BYTES_PER_SECOND),
    "DCGM_FI_PROF_PCIE_TX_BYTES": FieldSpec(Field.PCIE_TRANSMIT, high=_MOST_BYTES_PER_SECOND),
    "DCGM_FI_PROF_NVLINK_RX_BYTES": FieldSpec(Field.NVLINK_RECEIVE, high=_MOST_BYTES_PER_SECOND),
    "DCGM_FI_PROF_NVLINK_TX_BYTES": FieldSpec(Field.NVLINK_TRANSMIT, high=_MOST_BYTES_PER_SECOND),
}
XID_COUNTS = "DCGM_EXP_XID_ERRORS_COUNT"
"""How often each XID was seen within the exporter's last minutes; the label `xid` says which."""
KINDS = {spec.field: spec.kind for spec in FIELDS.values()}

PER_PROCESS = frozenset({Field.UTILIZATION, Field.MEMORY_USED})
"""What dcgm-exporter 4.8 and later tell of each pod on a GPU that several share."""
OF_THE_WHOLE_GPU = frozenset(
    {
        Field.POWER,
        Field.ENERGY,
        Field.PCIE_RECEIVE,
        Field.PCIE_TRANSMIT,
        Field.NVLINK_RECEIVE,
        Field.NVLINK_TRANSMIT,
        Field.MEMORY_COPY_UTILIZATION,
        Field.UTILIZATION,
    }
)
"""What a MIG instance shows of the GPU that it is a part of."""
CIRCUMSTANCES = frozenset(
    {Field.TEMPERATURE, Field.SM_CLOCK, Field.MEMORY_CLOCK, Field.THROTTLE_REASONS, Field.XID}
)
"""What holds for everybody on a GPU alike."""

# nvml.h and dcgm_fields.h have the same bits. Idle (1), clocks set by the user (2) and display
# clocks (256) do not tell of clocks held down.
THROTTLE_REASONS = {
    0x04: "SwPowerCap",
    0x08: "HwSlowdown",
    0x10: "SyncBoost",
    0x20: "SwThermalSlowdown",
    0x40: "HwThermalSlowdown",
    0x80: "HwPowerBrakeSlowdown",
}

# dcgm_structs.h: blank, not found, not supported, not permissioned.
_BLANKS = frozenset(
    float(first + offset)
    for first in (0x7FFFFFF0, 0x7FFFFFFFFFFFFFF0, 2**47)
    for offset in range(4)
)


def is_blank(value: float) -> bool:
    """Tell whether a value is DCGM's way of saying that there is none."""
    return not math.isfinite(value) or value in _BLANKS
