"""Profile: what a profiler's reports come to, as numbers.

How each number is made, and what of it is exact, is told in docs/profiles.md.
"""

from __future__ import annotations

from typing import Literal

from gpubench.api.base import ApiModel
from gpubench.api.enums import Family, ProfiledKind
from gpubench.api.measurements import Amount, Count, Distribution, Finite, Ratio


class EventStatistics(ApiModel):
    """Durations of a group of events over all ranks.

    Percentiles are of the events themselves (no mean of the ranks' percentiles), with linear
    interpolation between neighbours, and like the extremes not known of a result that was read
    from a status.
    """

    calls: Count
    """Events."""
    total_seconds: Amount
    """Sum of their durations."""
    mean_seconds: Amount | None = None
    """Arithmetic mean."""
    min_seconds: Amount | None = None
    """Shortest."""
    p50_seconds: Amount | None = None
    """Median."""
    p99_seconds: Amount | None = None
    """99th percentile."""
    max_seconds: Amount | None = None
    """Longest."""


class CopyStatistics(ApiModel):
    """Copies of one kind of host memory, or of all kinds together."""

    calls: Count
    """Copies."""
    total_seconds: Amount
    """Sum of their durations."""
    total_bytes: Count
    """Bytes moved."""
    bytes_per_second: Amount | None = None
    """Bytes over seconds, while a copy was under way; none where no copy took any time."""


class FamilyStatistics(EventStatistics):
    """A family of profiler events over all ranks."""

    share: Amount
    """Total over the window's length and the ranks. Threads and streams work side by side, so it
    may exceed 1."""
    rank_total_seconds: list[Amount] = []
    """Total of each rank."""
    rank_calls: list[Count] = []
    """Events of each rank."""
    copies: CopyStatistics | None = None
    """Bytes and bandwidth, of copies and of memset."""
    pageable: CopyStatistics | None = None
    """Of these, copies from or to pageable host memory."""
    pinned: CopyStatistics | None = None
    """Of these, copies from or to pinned host memory."""


class NameStatistics(EventStatistics):
    """Events of one name."""

    name: str
    """As the profiler writes it, without a version's suffix."""
    kind: ProfiledKind
    """What the profiler saw: a call, a kernel, a range."""
    family: Family | None = None
    """Family that it counts to; none for a range."""


class PhaseStatistics(EventStatistics):
    """An NVTX range of the domain `gpubench`: a phase of the training."""

    name: str
    """Such as forward."""
    share: Amount
    """Total over the window's length and the ranks. Phases lie in each other (a step holds its
    forward pass), so shares do not add up to 1."""
    gpu_seconds: Amount | None = None
    """Time of the GPU operations that were launched while the phase lasted, whenever they ran; of
    the innermost phases only, and none without such operations."""


class GpuActivity(ApiModel):
    """What the GPUs were busy with, over all ranks. Overlaps count once, so these are not sums.

    A GPU is counted once for each process that used it.
    """

    gpus: Count
    """GPUs with any operation, summed over the ranks."""
    busy_seconds: Amount
    """Time in which a GPU executed a kernel, a copy or a memset, summed over GPUs."""
    idle_share: Ratio
    """Share of the window in which a GPU did nothing, mean over GPUs."""
    compute_seconds: Amount
    """Time in which a kernel ran that does not communicate."""
    communication_seconds: Amount
    """Time in which a kernel of NCCL ran."""
    exposed_communication_seconds: Amount
    """Time in which a kernel of NCCL ran and no other: what communication cost."""
    communication_overlap: Ratio | None = None
    """Share of the communication that ran beside computation; none without communication."""
    copy_seconds: Amount
    """Time in which a copy was under way."""
    copy_overlap: Ratio | None = None
    """Share of the copying that ran beside computation; none without copies."""


class ProfileWindow(ApiModel):
    """What the profile covers."""

    seconds: Amount
    """Length, mean over ranks."""
    first_step: Count | None = None
    """First profiled step."""
    steps: Count | None = None
    """Profiled steps."""


class Profile(ApiModel):
    """A profile as numbers."""

    source: Literal["Nsys", "Kineto"]
    """The profiler."""
    version: str | None = None
    """Its version, where the report tells it."""
    schema_version: str | None = None
    """Version of the report's tables, where it tells it."""
    window: ProfileWindow
    """What it covers."""
    events: Count | None = None
    """Events counted; not known of a result that was read from a status."""
    families: dict[Family, FamilyStatistics]
    """Where the time went."""
    overhead: Finite | None = None
    """Profiled over unprofiled iteration time, minus 1."""
    idle_share: Ratio | None = None
    """Share of the window in which the GPU did nothing."""
    activity: GpuActivity | None = None
    """What the GPUs were busy with; none where no GPU was seen."""
    launch_latency: Distribution | None = None
    """From the start of the call that launches a kernel to the kernel's start."""
    phases: list[PhaseStatistics] = []
    """Phases of the training, as its NVTX ranges tell them, longest first."""
    kernels: list[NameStatistics] = []
    """Kernels with the longest total time."""
    unmapped: list[NameStatistics] = []
    """Calls of names that have no family of their own, longest total first; the families `otherApi`
    and `osRuntimeCall` hold all of them."""
    ranges: list[NameStatistics] = []
    """NVTX ranges of other domains, longest total first."""
    names_left_out: Count = 0
    """Names that the three lists above leave out for being too many; the families count them."""
    missing: list[str] = []
    """Tables that a report does not have: nothing of that kind was traced, or nothing happened."""
    notes: list[str] = []
    """What of the reports could not be used, each a sentence; empty if everything could."""
