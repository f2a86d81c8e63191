"""What produced a result: versions, machine, times."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import psutil

from gpubench import __version__
from gpubench.api.result import Provenance
from gpubench_workloads.reporting.rank_report import RankReport
from gpubench_workloads.sampling import nvml

NODE_VARIABLE = "GPUBENCH_NODE"
IMAGE_VARIABLE = "GPUBENCH_IMAGE"


def build_provenance(
    reports: Sequence[RankReport | None], started_at: datetime, finished_at: datetime
) -> Provenance:
    """Gather what the ranks reported and what this machine is."""
    report = next((r for r in reports if r is not None), None)
    software = {"python": platform.python_version(), **nvml.driver_versions()}
    return Provenance(
        gpubench_version=__version__,
        started_at=rfc3339(started_at),
        finished_at=rfc3339(finished_at),
        node=os.environ.get(NODE_VARIABLE) or socket.gethostname(),
        image=os.environ.get(IMAGE_VARIABLE),
        software=software | (report.software if report else {}),
        hardware=_hardware(),
        dataset=report.dataset if report else {},
        settings=report.settings if report else {},
    )


def rfc3339(time: datetime) -> str:
    """Return a time as Kubernetes writes it, to the millisecond."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def processor_name() -> str:
    """Return the processor's model."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def _hardware() -> dict[str, str]:
    return {
        "processor": processor_name(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memoryBytes": str(psutil.virtual_memory().total),
        "kernel": platform.release(),
        **nvml.topology(),
    }
