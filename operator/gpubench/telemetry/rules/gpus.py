"""Recording rules that join what dcgm-exporter serves of each GPU to the run that has it.

By pod where the exporter knows it, whether Prometheus keeps its labels (`honorLabels`) or renames
them to `exported_...`; else by the GPU's UUID, which the pod tells. A GPU that two runs share is
not joined by UUID: nobody could say whose reading it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpubench.telemetry.rules.model import RUN, Recording

LARGEST = "1e+18"
"""DCGM's values for "not known" are larger."""
GPU = f"{RUN}, UUID, gpu"


@dataclass(frozen=True)
class GpuReading:
    """A field of DCGM under our name, in our unit."""

    name: str
    field: str
    factor: str = "1"

    @property
    def record(self) -> str:
        """Name of the rule."""
        return f"gpu:gpubench_{self.name}"


READINGS = (
    GpuReading("utilization:ratio", "DCGM_FI_DEV_GPU_UTIL", "0.01"),
    GpuReading("sm_active:ratio", "DCGM_FI_PROF_SM_ACTIVE"),
    GpuReading("tensor_active:ratio", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"),
    GpuReading("dram_active:ratio", "DCGM_FI_PROF_DRAM_ACTIVE"),
    GpuReading("memory_used:bytes", "DCGM_FI_DEV_FB_USED", "1048576"),
    GpuReading("power:watts", "DCGM_FI_DEV_POWER_USAGE"),
    GpuReading("temperature:celsius", "DCGM_FI_DEV_GPU_TEMP"),
    GpuReading("sm_clock:hertz", "DCGM_FI_DEV_SM_CLOCK", "1000000"),
    GpuReading("pcie_receive:bytes_per_second", "DCGM_FI_PROF_PCIE_RX_BYTES"),
    GpuReading("pcie_transmit:bytes_per_second", "DCGM_FI_PROF_PCIE_TX_BYTES"),
    GpuReading("nvlink_receive:bytes_per_second", "DCGM_FI_PROF_NVLINK_RX_BYTES"),
    GpuReading("nvlink_transmit:bytes_per_second", "DCGM_FI_PROF_NVLINK_TX_BYTES"),
)


def _joined(reading: GpuReading) -> str:
    known = f"{reading.field} < {LARGEST}"
    pods = f"max by ({RUN}, pod) (gpubench_run_pod_info)"
    by_pod = f"({known}) * on (namespace, pod) group_left (benchmark, run) {pods}"
    renamed = f"({known})"
    for label in ("namespace", "pod"):
        renamed = f'label_replace({renamed}, "{label}", "$1", "exported_{label}", "(.+)")'
    by_exported_pod = f"{renamed} * on (namespace, pod) group_left (benchmark, run) {pods}"
    owners = f"max by ({RUN}, UUID) (gpubench_live_gpu_info)"
    alone = f"count by (UUID) ({owners}) == 1"
    by_uuid = (
        f"({known}) * on (UUID) group_left (namespace, benchmark, run)"
        f" ({owners} and on (UUID) {alone})"
    )
    return f"max by ({GPU}) ({by_pod} or {by_exported_pod} or {by_uuid})"


def _rule(reading: GpuReading) -> Recording:
    expression = _joined(reading)
    if reading.factor != "1":
        expression += f" * {reading.factor}"
    return Recording(reading.record, expression)


GPU_RULES = tuple(_rule(reading) for reading in READINGS)
