"""What the GPUs of a trace were busy with, moment by moment."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import polars as pl

from gpubench.profiles.events import EventKind
from gpubench.profiles.intervals import Cover

Gpu = tuple[int | None, int | None]
"""A process and the number of a device in it."""


@dataclass
class GpuCover:
    """When one GPU computed, communicated, copied, and did anything else."""

    compute: Cover = field(default_factory=Cover)
    communication: Cover = field(default_factory=Cover)
    copying: Cover = field(default_factory=Cover)
    other: Cover = field(default_factory=Cover)

    def busy(self) -> Cover:
        """Return when it did anything."""
        return self.compute | self.communication | self.copying | self.other

    def add(self, more: GpuCover) -> None:
        """Add what another part of the trace tells of the same GPU."""
        self.compute.add(more.compute.pieces())
        self.communication.add(more.communication.pieces())
        self.copying.add(more.copying.pieces())
        self.other.add(more.other.pieces())


@dataclass
class GpuTimes:
    """Every GPU of a trace."""

    covers: dict[Gpu, GpuCover] = field(default_factory=dict)

    def add(self, kind: EventKind, events: pl.DataFrame, communication: Collection[int]) -> None:
        """Add operations, of which kernels of some names communicate."""
        for gpu, own in _by_gpu(events):
            cover = self.covers.setdefault(gpu, GpuCover())
            if kind is EventKind.KERNEL and communication:
                communicates = pl.col("name").is_in(communication).fill_null(False)
                cover.communication.add(own.filter(communicates))
                cover.compute.add(own.filter(~communicates))
            elif kind in {EventKind.KERNEL, EventKind.GRAPH}:
                cover.compute.add(own)
            elif kind is EventKind.COPY:
                cover.copying.add(own)
            else:
                cover.other.add(own)

    def merge(self, more: GpuTimes) -> None:
        """Add what another kind of events tells."""
        for gpu, cover in more.covers.items():
            self.covers.setdefault(gpu, GpuCover()).add(cover)


def _by_gpu(events: pl.DataFrame) -> Iterator[tuple[Gpu, pl.DataFrame]]:
    gpus = events.select("process", "device").unique().rows()
    for process, device in gpus:
        own = pl.col("process").eq_missing(process) & pl.col("device").eq_missing(device)
        # Most reports are of one GPU: nothing to take apart then.
        yield (process, device), events if len(gpus) == 1 else events.filter(own)
