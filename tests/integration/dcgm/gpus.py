"""GPUs as the exporter process serves them."""

from __future__ import annotations

from typing import Any


def uuid(number: int) -> str:
    """The UUID of a GPU."""
    return f"GPU-{number:08x}-0000-4000-8000-{number:012x}"


def gpu(number: int = 1, *pods: tuple[str, str], **values: Any) -> dict[str, Any]:
    """A GPU with all of the fields that we read, some of them given by their short names."""
    fields = {
        "GPU_UTIL": 80,
        "MEM_COPY_UTIL": 30,
        "FB_USED": 20_000,
        "FB_FREE": 61_000,
        "POWER_USAGE": 300.0,
        "TOTAL_ENERGY_CONSUMPTION": 1_000_000,
        "GPU_TEMP": 60,
        "SM_CLOCK": 1755,
        "MEM_CLOCK": 2619,
        "XID_ERRORS": 0,
        "CLOCKS_EVENT_REASONS": 0,
    }
    profiling = {
        "GR_ENGINE_ACTIVE": 0.75,
        "SM_ACTIVE": 0.6,
        "PIPE_TENSOR_ACTIVE": 0.25,
        "DRAM_ACTIVE": 0.5,
        "PCIE_TX_BYTES": 1e9,
        "PCIE_RX_BYTES": 2e9,
        "NVLINK_TX_BYTES": 3e9,
        "NVLINK_RX_BYTES": 4e9,
    }
    told = {f"DCGM_FI_DEV_{name}": value for name, value in fields.items()}
    told |= {f"DCGM_FI_PROF_{name}": value for name, value in profiling.items()}
    for name, value in values.items():
        prefix = "DCGM_FI_PROF_" if name in profiling else "DCGM_FI_DEV_"
        prefix = "DCGM_EXP_" if name.endswith("_COUNT") else prefix
        told[prefix + name] = value
    return {"uuid": uuid(number), "pods": [list(pod) for pod in pods], "values": told}
