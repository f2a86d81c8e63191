"""What a rank tells of its process: memory at its highest, devices, versions."""

from __future__ import annotations

import platform
import resource
import sys
from collections.abc import Sequence
from importlib.metadata import version

import torch

from gpubench.api.result import RankMemory


def peak_memory(rank: int, gpus: Sequence[int]) -> RankMemory:
    """Return the most memory that this process had: on its fullest GPU, and in main memory."""
    # In kibibytes on Linux, in bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return RankMemory(
        rank=rank,
        allocated_bytes=max(map(torch.cuda.max_memory_allocated, gpus), default=None),
        reserved_bytes=max(map(torch.cuda.max_memory_reserved, gpus), default=None),
        resident_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
    )


def gpu_name(gpus: Sequence[int]) -> str:
    """Return the model of the GPUs, empty without one; the supervisor knows the processor's."""
    return torch.cuda.get_device_name(gpus[0]) if gpus else ""


def gpu_uuids(gpus: Sequence[int]) -> list[str]:
    """Return the UUIDs of the GPUs as NVML and DCGM write them."""
    return [f"GPU-{torch.cuda.get_device_properties(gpu).uuid}" for gpu in gpus]


def software_versions(*packages: str) -> dict[str, str]:
    """Return the versions of Python, torch, these packages, and CUDA's libraries if they work."""
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    versions |= {package: version(package) for package in packages}
    if torch.cuda.is_available():
        versions["cuda"] = str(torch.version.cuda)
        versions["cudnn"] = str(torch.backends.cudnn.version())
        versions["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    return versions
