"""Nsight Systems: where it is, and how it is asked to watch a rank."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from gpubench.api.enums import DeviceKind, NsysTrace
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.profiling.ranges import DOMAIN, WINDOW

NSYS_VARIABLE = "GPUBENCH_NSYS"
"""Environment variable with the path of nsys; without it, the one on PATH is taken. Set but empty:
do without."""


def find_nsys(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the nsys to use, None where there is none."""
    named = environment.get(NSYS_VARIABLE)
    found = shutil.which("nsys" if named is None else named, path=environment.get("PATH"))
    return Path(found) if found else None


def traced(spec: RunSpec) -> list[NsysTrace]:
    """Return what is traced: as asked for, and NVTX, by which the window is opened.

    On a processor, where nothing of CUDA happens, waits in the OS's runtime instead of CUDA.
    """
    asked = {NsysTrace.NVTX, *spec.profiling.nsys.trace}
    if spec.device is DeviceKind.CPU:
        asked = {NsysTrace.NVTX, NsysTrace.OSRT}
    return [trace for trace in NsysTrace if trace in asked]


def nsys_command(nsys: Path, spec: RunSpec, report: Path) -> list[str]:
    """Return the command that profiles a program, which is to follow it.

    Nothing is recorded before the program opens the range that stands for the window, and it goes
    on undisturbed when the range is closed, or when nsys is ended. Neither sampling nor context
    switches: both need rights that a restricted pod does not have.
    """
    return [
        str(nsys),
        "profile",
        f"--trace={','.join(traced(spec))}",
        "--sample=none",
        "--cpuctxsw=none",
        "--capture-range=nvtx",
        f"--nvtx-capture={WINDOW}@{DOMAIN}",
        "--capture-range-end=stop",
        "--kill=none",
        "--force-overwrite=true",
        f"--output={report.with_suffix('')}",
    ]
