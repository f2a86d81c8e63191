"""What must be there before any rank is started, each with one plain line where it is not."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from gpubench.api.enums import DeviceKind, FailureClass, Strategy, WorkloadKind
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.sampling import nvml

PACKAGES = {
    WorkloadKind.IMAGE_RECOGNITION: ("torch", "torchvision"),
    WorkloadKind.LLM_TUNING: ("torch", "torchtune", "torchao", "datasets"),
}
"""What each workload stands on; an image may hold what only one of them needs."""
MIN_DISK_BYTES = 64 * 2**20
"""Room for a result, a table of steps and a log."""
BYTES_PER_VALUE = {"FP64": 8, "FP32": 4, "TF32": 4, "BF16": 2, "FP16": 2}
PREFETCHED_BATCHES = 2
"""Batches that each DataLoader worker keeps ready, torch's default."""
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - the mount that DataLoader workers use


class PreflightError(Exception):
    """A run cannot start."""

    def __init__(self, failure_class: FailureClass, message: str) -> None:
        """Say in one line what is missing and how much is needed."""
        super().__init__(message)
        self.failure_class = failure_class


def preflight(spec: RunSpec, attempt_folder: Path) -> None:
    """Check everything that a run needs, the cheapest first.

    Raises:
        PreflightError: the first thing that is not as it must be.
    """
    check_workload(spec)
    check_devices(spec)
    check_disk(attempt_folder)
    check_shared_memory(spec)
    check_inputs(spec, attempt_folder)


def check_workload(spec: RunSpec) -> None:
    """Check that this version can run the workload, and the strategy on its device."""
    missing = [n for n in PACKAGES[spec.workload.kind] if importlib.util.find_spec(n) is None]
    if missing:
        msg = (
            f"workload.{spec.workload.kind}: not part of this installation or image, which lacks "
            f"{', '.join(missing)}"
        )
        raise PreflightError(FailureClass.BAD_SPEC, msg)
    image_recognition = spec.workload.image_recognition
    if image_recognition is None:
        return
    data_parallel = image_recognition.strategy is Strategy.DATA_PARALLEL
    if data_parallel and spec.device is DeviceKind.CPU and spec.gpus > 1:
        msg = (
            f"strategy: DataParallel with gpus: {spec.gpus} makes no sense on a CPU: it spreads "
            "one process over GPUs; allowed there: gpus: 1, or DDP, DDP-RR, DDP-DS"
        )
        raise PreflightError(FailureClass.BAD_SPEC, msg)


def check_devices(spec: RunSpec) -> None:
    """Check that as many GPUs are visible as are asked for."""
    if spec.device is DeviceKind.CPU:
        return
    visible = len(nvml.visible_gpus())
    if visible < spec.gpus:
        msg = f"gpus: {spec.gpus} are asked for, {visible} are visible to this process"
        raise PreflightError(FailureClass.ENVIRONMENT, msg)


def check_disk(attempt_folder: Path) -> None:
    """Check that the result will have room."""
    free = shutil.disk_usage(attempt_folder).free
    if free < MIN_DISK_BYTES:
        msg = (
            f"results folder {attempt_folder}: {free // 2**20} MiB free, "
            f"{MIN_DISK_BYTES // 2**20} MiB needed"
        )
        raise PreflightError(FailureClass.ENVIRONMENT, msg)


def check_shared_memory(spec: RunSpec) -> None:
    """Check that the batches which DataLoader workers keep ready fit into /dev/shm."""
    needed = shared_memory_bytes(spec)
    if needed == 0 or not SHARED_MEMORY.exists():
        return
    free = shutil.disk_usage(SHARED_MEMORY).free
    if free < needed:
        msg = (
            f"{SHARED_MEMORY}: {free // 2**20} MiB free, about {needed // 2**20} MiB needed by "
            "DataLoader workers; give more (execution.resources.sharedMemory) or lower workers"
        )
        raise PreflightError(FailureClass.ENVIRONMENT, msg)


def shared_memory_bytes(spec: RunSpec) -> int:
    """Return the bytes of the batches that all workers of all ranks keep ready."""
    workload = spec.workload.image_recognition
    if workload is None or workload.input_pipeline != "DataLoader":
        return 0
    image_bytes = 3 * workload.image_size**2 * BYTES_PER_VALUE[workload.precision]
    batches = workload.workers * PREFETCHED_BATCHES
    return spec.gpus * batches * workload.batch_size * image_bytes


def check_inputs(spec: RunSpec, attempt_folder: Path) -> None:
    """Check that dataset and weights are there and whole; fetch a dataset where that is allowed."""
    from gpubench_workloads.image_recognition.datasets import check_dataset
    from gpubench_workloads.llm_tuning.plan import TuningPlan
    from gpubench_workloads.training.errors import WorkloadError

    try:
        if spec.workload.kind is WorkloadKind.IMAGE_RECOGNITION:
            check_dataset(spec)
        else:
            TuningPlan.make(spec, attempt_folder)
    except WorkloadError as error:
        raise PreflightError(error.failure_class, str(error)) from None
