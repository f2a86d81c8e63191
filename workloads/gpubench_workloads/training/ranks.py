"""The ranks of a run: who this process is, on which device, and how it speaks with the others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import distributed as dist
from torch import nn

from gpubench.api.enums import DeviceKind
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.training.errors import UnfitMachineError

SILENCE = timedelta(minutes=10)
"""How long a rank waits for the others: longer than any step, compilation or start-up skew. A rank
that ends is noticed at once, by its closed connection and by torchrun."""


@dataclass(frozen=True)
class Ranks:
    """This process among the processes of its run."""

    rank: int
    count: int
    device: torch.device

    @property
    def backend(self) -> str | None:
        """How gradients travel; None for a single process, which has nobody to send them to."""
        if self.count == 1:
            return None
        return "nccl" if self.device.type == "cuda" else "gloo"

    def wait_for_all(self) -> None:
        """Return once every rank is here."""
        if self.count > 1:
            dist.barrier()

    def meet(self, word: str) -> None:
        """Return once every rank has called this with a word that none has used before.

        By way of the store by which the ranks found each other, so that the device is not used.
        """
        if self.count == 1:
            return
        store = dist.distributed_c10d._get_default_store()  # noqa: SLF001 - there is no other way
        if store.add(f"gpubench/{word}", 1) == self.count:
            store.set(f"gpubench/{word}/all", "")
        store.wait([f"gpubench/{word}/all"], SILENCE)

    def total(self, *values: float) -> list[float]:
        """Return the sums of values over all ranks."""
        sums = torch.tensor(values, dtype=torch.float64, device=self.device)
        if self.count > 1:
            dist.all_reduce(sums)
        return [float(value) for value in sums]

    def share_buffers(self, model: nn.Module) -> None:
        """Give every rank the first one's running statistics, which no gradient averages."""
        if self.count > 1:
            for buffer in model.buffers():
                dist.broadcast(buffer, src=0)

    def wait_for_device(self) -> None:
        """Return once the device has done all that it was given."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def rank_number() -> int:
    """Return this process's rank as torchrun tells it; 0 without torchrun."""
    return int(os.environ.get("RANK", "0"))


def rank_threads(spec: RunSpec, ranks: int) -> int | None:
    """Return the threads of each rank on a CPU: as asked for, or the cores divided by the ranks."""
    if spec.device is not DeviceKind.CPU:
        return None
    return spec.threads_per_rank or max(len(os.sched_getaffinity(0)) // ranks, 1)


def this_rank(kind: DeviceKind, gpus: int, ranks: int) -> Ranks:
    """Return who this process is, its device made current.

    `gpus` of the run are spread over `ranks` processes, one each or all for one.

    Raises:
        UnfitMachineError: there are fewer GPUs or processes than the run needs.
    """
    started = int(os.environ.get("WORLD_SIZE", "1"))
    if started != ranks:
        msg = f"gpus: {gpus} with this strategy needs {ranks} process(es), {started} were started"
        raise UnfitMachineError(msg)
    if kind is DeviceKind.CPU:
        return Ranks(rank_number(), ranks, torch.device("cpu"))
    visible = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if visible < gpus:
        msg = f"gpus: {gpus} are asked for, torch sees {visible}"
        raise UnfitMachineError(msg)
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    return Ranks(rank_number(), ranks, device)


@contextmanager
def joined(ranks: Ranks) -> Iterator[None]:
    """Join the other ranks while the context lasts; a single one needs no joining.

    After an error the group is not taken down, which could wait for ranks that are gone: the
    process ends, its connections close, and that is what tells the others.
    """
    if ranks.count == 1:
        yield
        return
    on_gpu = ranks.device.type == "cuda"
    dist.init_process_group(
        ranks.backend, timeout=SILENCE, device_id=ranks.device if on_gpu else None
    )
    yield
    ranks.wait_for_all()
    dist.destroy_process_group()
