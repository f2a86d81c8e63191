"""One trace, reduced to numbers: counted durations, covered time, matched launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from gpubench.api.enums import Family, ProfiledKind
from gpubench.profiles.errors import ProfileError
from gpubench.profiles.events import EventKind, Trace, UnreadableTableError
from gpubench.profiles.families import COMMUNICATION, family_of
from gpubench.profiles.gpus import GpuTimes
from gpubench.profiles.labels import labelled, without_call_numbers
from gpubench.profiles.launches import latencies, launch_keys, phase_times
from gpubench.profiles.phases import INNERMOST_PHASES, PHASE_DOMAIN, WINDOW_RANGE
from gpubench.profiles.polars_errors import POLARS_ERRORS, first_line
from gpubench.profiles.tally import Tally

_KEYS: Mapping[EventKind, Sequence[str]] = {
    EventKind.COPY: ("copy_kind", "memory"),
    EventKind.MEMSET: (),
    EventKind.GRAPH: (),
    EventKind.RANGE: ("domain", "text"),
}
_CORRELATED = (EventKind.KERNEL, EventKind.COPY, EventKind.MEMSET)
_ON_GPU = (EventKind.KERNEL, EventKind.COPY, EventKind.MEMSET, EventKind.GRAPH)


@dataclass(frozen=True)
class Window:
    """A stretch of a trace's clock, in nanoseconds."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """Its length."""
        return self.end - self.start


@dataclass(frozen=True)
class RankNumbers:
    """What one rank's report comes to."""

    source: Literal["Nsys", "Kineto"]
    version: str | None
    schema_version: str | None
    window: Window
    events: int
    counts: pl.DataFrame
    """Rows of `labels.COUNTS`."""
    gpus: GpuTimes
    latencies: pl.DataFrame
    phase_times: dict[str, int]
    """Nanoseconds of the GPU operations that were launched in each phase."""
    missing: list[str]
    notes: list[str]


@dataclass
class _Part:
    """What one kind of events comes to; it counts only once all of them were read."""

    kind: EventKind
    tally: Tally
    gpus: GpuTimes = field(default_factory=GpuTimes)
    launches: list[pl.DataFrame] = field(default_factory=list)
    """Kernels, or the calls that launch them."""
    correlated: list[pl.DataFrame] = field(default_factory=list)
    """All calls, or all operations of a GPU; only where there are phases to tell of."""
    phases: list[pl.DataFrame] = field(default_factory=list)
    events: int = 0
    outside: int = 0
    stretches: list[Window] = field(default_factory=list)


def reduce_trace(trace: Trace, *, whole: bool = False) -> RankNumbers:
    """Return what a trace comes to.

    Events count that begin within the range `window` of the domain `gpubench`, if there is one and
    not the `whole` trace is wanted. Without it the window is from the first event to the last.

    Raises:
        ProfileError: it holds no event.
    """
    return _Reduction(trace, whole=whole).run()


class _Reduction:
    def __init__(self, trace: Trace, *, whole: bool) -> None:
        self._trace = trace
        self._whole = whole
        self._window: Window | None = None
        self._has_phases = False
        self._launching = _ids(trace.names(), ProfiledKind.API, {Family.CUDA_LAUNCH_KERNEL})
        self._communicating = _ids(trace.names(), ProfiledKind.KERNEL, COMMUNICATION)

    def run(self) -> RankNumbers:
        # Ranges come first: one of them may be the window.
        kinds = [EventKind.RANGE, *(kind for kind in EventKind if kind is not EventKind.RANGE)]
        parts = [part for kind in kinds if (part := self._read(kind)) is not None]
        findings = self._trace.findings
        gpus = GpuTimes()
        for part in parts:
            gpus.merge(part.gpus)
        launches = {part.kind: part.launches for part in parts}
        found = latencies(
            launches.get(EventKind.API, []), launches.get(EventKind.KERNEL, []), findings
        )
        times = phase_times(
            [phase for part in parts for phase in part.phases],
            [call for part in parts if part.kind is EventKind.API for call in part.correlated],
            [one for part in parts if part.kind in _CORRELATED for one in part.correlated],
        )
        outside = sum(part.outside for part in parts)
        if outside:
            findings.note(f"{outside} events outside of the window are left out.")
        return RankNumbers(
            source=self._trace.source,
            version=self._trace.version,
            schema_version=self._trace.schema_version,
            window=self._window or _extent(parts),
            events=sum(part.events for part in parts),
            counts=labelled(
                {part.kind: part.tally.counts() for part in parts}, self._trace.names()
            ),
            gpus=gpus,
            latencies=found,
            phase_times=times,
            missing=findings.missing,
            notes=findings.all_notes(),
        )

    def _read(self, kind: EventKind) -> _Part | None:
        """Return what the events of a kind come to; None if they cannot be read."""
        part = _Part(kind, Tally(_KEYS.get(kind, ("name",))))
        try:
            for batch in self._trace.batches(kind):
                if kind is EventKind.RANGE and not self._whole:
                    self._window = _window(batch)
                self._add(part, batch)
        except (UnreadableTableError, *POLARS_ERRORS) as error:
            self._trace.findings.note(
                f"Events of the kind {kind} are left out: {first_line(error)}"
            )
            return None
        return part

    def _add(self, part: _Part, batch: pl.DataFrame) -> None:
        events = batch
        if self._window is not None:
            within = pl.col("start").is_between(self._window.start, self._window.end)
            events = batch.filter(within)
            part.outside += batch.height - events.height
        if events.is_empty():
            return
        part.events += events.height
        part.stretches.append(_stretch(events))
        part.tally.add(_with_keys(part.kind, events))
        if part.kind in _ON_GPU:
            part.gpus.add(part.kind, events, self._communicating)
        if part.kind is EventKind.RANGE:
            part.phases.append(_innermost_phases(events))
            self._has_phases |= not part.phases[-1].is_empty()
        if part.kind is EventKind.API:
            part.launches.append(launch_keys(events.filter(pl.col("name").is_in(self._launching))))
        elif part.kind is EventKind.KERNEL:
            part.launches.append(launch_keys(events))
        if self._has_phases and part.kind in (EventKind.API, *_CORRELATED):
            part.correlated.append(launch_keys(events))


def _ids(
    names: Mapping[int, str], kind: ProfiledKind, families: frozenset[Family] | set[Family]
) -> list[int]:
    # A cheap look at all strings first: there may be as many as a program has NVTX texts.
    sign = "nccl" if kind is ProfiledKind.KERNEL else "aunch"
    return [
        number
        for number, name in names.items()
        if sign in name and family_of(kind, name) in families
    ]


def _innermost_phases(ranges: pl.DataFrame) -> pl.DataFrame:
    own = (pl.col("domain") == PHASE_DOMAIN) & pl.col("text").is_in(INNERMOST_PHASES)
    return ranges.filter(own).select("start", "end", "text")


def _window(ranges: pl.DataFrame) -> Window | None:
    own = ranges.filter((pl.col("domain") == PHASE_DOMAIN) & (pl.col("text") == WINDOW_RANGE))
    if own.is_empty():
        return None
    return _stretch(own)


def _stretch(events: pl.DataFrame) -> Window:
    first, last = events.select(pl.col("start").min(), pl.col("end").max()).row(0)
    return Window(first, last)


def _extent(parts: Sequence[_Part]) -> Window:
    stretches = [stretch for part in parts for stretch in part.stretches]
    if not stretches:
        msg = "it holds no events"
        raise ProfileError(msg)
    return Window(min(one.start for one in stretches), max(one.end for one in stretches))


def _with_keys(kind: EventKind, events: pl.DataFrame) -> pl.DataFrame:
    """Return the events with everything that they are counted by."""
    if kind is EventKind.RANGE:
        return events.with_columns(without_call_numbers(pl.col("text")))
    if kind is not EventKind.COPY:
        return events
    # The kind of host memory that the copy came from or went to.
    host = (
        pl.when(pl.col("copy_kind") == 1)
        .then("source_memory")
        .when(pl.col("copy_kind") == 2)
        .then("target_memory")
    )
    return events.with_columns(host.alias("memory"))
