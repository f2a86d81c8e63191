"""Which environment variables a profiler may see: it writes all of them into its report.

Everything else reaches the rank by another way, so that nothing is lost: in a file that is nowhere
but in memory. Allowed is what decides how programs are found and loaded before the rank's first
line runs, what torchrun tells its ranks, and what a reader of the report wants to know about torch,
CUDA and NCCL.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

ENVIRONMENT_VARIABLE = "GPUBENCH_ENVIRONMENT_FILE"
"""Environment variable with the path at which the other variables are found."""
ALLOWED_NAMES = frozenset(
    {
        "PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "LANG", "TZ",
        # Ours, with paths and process ids.
        "GPUBENCH_PROFILER", "GPUBENCH_NSYS", "GPUBENCH_RANK_EXITS", "GPUBENCH_PARENT_PID",
        "GPUBENCH_ENVIRONMENT_FILE",
        # Python, before its first line.
        "PYTHONPATH", "PYTHONHOME", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE",
        "PYTHONNOUSERSITE", "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONSAFEPATH", "VIRTUAL_ENV",
        # torchrun's, which tell whose report it is.
        "RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "ROLE_NAME", "WORLD_SIZE",
        "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
        # Of the many that begin with NVIDIA_ some hold keys.
        "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES",
    }
)  # fmt: skip
ALLOWED_PREFIXES = (
    "LC_", "LD_", "CUDA_", "NCCL_", "GLOO_", "TORCH", "OMP_", "KMP_", "MKL_", "MALLOC_", "NSYS_",
)  # fmt: skip
SUSPICIOUS = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY", "ACCESS_KEY")
"""Parts of names that no allowed prefix lets pass."""


def allowed_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that may stand in a report."""
    return {name: value for name, value in environment.items() if is_allowed(name)}


def is_allowed(name: str) -> bool:
    """Return whether a variable of this name may stand in a report."""
    if name in ALLOWED_NAMES:
        return True
    return name.startswith(ALLOWED_PREFIXES) and not any(part in name for part in SUSPICIOUS)


def pack_environment(environment: Mapping[str, str]) -> int:
    """Return a file in memory with these variables; who gets it closes it."""
    file = os.memfd_create("environment")
    for name, value in environment.items():
        os.write(file, os.fsencode(f"{name}={value}") + b"\0")
    return file


def add_environment(file: int) -> None:
    """Add the variables of such a file that this process lacks, and close it."""
    entries = os.pread(file, os.fstat(file).st_size, 0).split(b"\0")
    os.close(file)
    for entry in entries:
        name, found, value = entry.partition(b"=")
        if found:
            os.environb.setdefault(name, value)
