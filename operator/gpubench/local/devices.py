"""What this machine has to train on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass

from gpubench.api.enums import DeviceKind

LIST_GPUS_MODULE = "gpubench_workloads.sampling"
"""Prints the visible GPUs; the workloads' side knows NVML, this side need not have it."""
LIST_GPUS_SECONDS = 30


class WorkloadsMissingError(Exception):
    """This installation has the control side only and cannot train."""


@dataclass(frozen=True)
class Machine:
    """The devices that runs may use: one slot each, GPUs by UUID or processor cores by number."""

    kind: DeviceKind
    slots: tuple[str, ...]
    description: str

    @property
    def count(self) -> int:
        """How many devices there are."""
        return len(self.slots)

    @property
    def limit_sentence(self) -> str:
        """How many GPUs or ranks a run may have here, for a person."""
        if self.kind is DeviceKind.CUDA:
            return f"this machine has {self.count} ({self.description})"
        return (
            f"this machine has no GPU in use and {self.count} processor cores, "
            f"so at most {self.count} ranks are sensible"
        )


def detect_machine(wanted: DeviceKind | None = None) -> Machine:
    """Return this machine's GPUs, or its processor where there are none or `wanted` is CPU.

    Raises:
        WorkloadsMissingError: the workloads are not installed.
    """
    gpus = _visible_gpus()
    if wanted is DeviceKind.CUDA or (gpus and wanted is not DeviceKind.CPU):
        models = ", ".join(sorted(set(gpus.values())))
        return Machine(DeviceKind.CUDA, tuple(gpus), models or "no GPU")
    cores = sorted(os.sched_getaffinity(0))
    return Machine(DeviceKind.CPU, tuple(str(core) for core in cores), "processor cores")


def _visible_gpus() -> dict[str, str]:
    """Return UUID and model of the GPUs that CUDA_VISIBLE_DEVICES leaves to us."""
    done = subprocess.run(
        [sys.executable, "-m", LIST_GPUS_MODULE],
        capture_output=True,
        text=True,
        timeout=LIST_GPUS_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        msg = f"the workloads are not installed here (gpubench[local] has them): {reason}"
        raise WorkloadsMissingError(msg)
    return {gpu["uuid"]: gpu["name"] for gpu in json.loads(done.stdout)}
