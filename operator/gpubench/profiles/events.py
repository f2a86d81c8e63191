"""Events of a trace, in the one form that every reader brings them into.

Times are nanoseconds on the trace's own clock. A process, a thread, a name and a correlation are
numbers that mean something within one trace only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

import polars as pl

MAX_TIME = 2**62
"""Later than any clock of a profiler tells (146 years): what is there is damage. The sum of two
such times still fits 64 bits."""


class EventKind(StrEnum):
    """A table of events."""

    API = "Api"
    KERNEL = "Kernel"
    COPY = "Copy"
    MEMSET = "Memset"
    GRAPH = "Graph"
    CUDNN = "Cudnn"
    CUBLAS = "Cublas"
    OS_RUNTIME = "OsRuntime"
    RANGE = "Range"


TIMES = {"start": pl.Int64(), "end": pl.Int64()}
COLUMNS: Mapping[EventKind, Mapping[str, pl.DataType]] = {
    EventKind.API: {
        **TIMES,
        "name": pl.Int64(),
        "process": pl.Int64(),
        "correlation": pl.Int64(),
    },
    EventKind.KERNEL: {
        **TIMES,
        "name": pl.Int64(),
        "process": pl.Int64(),
        "device": pl.Int64(),
        "correlation": pl.Int64(),
    },
    EventKind.COPY: {
        **TIMES,
        "copy_kind": pl.Int64(),
        "source_memory": pl.Int64(),
        "target_memory": pl.Int64(),
        "bytes": pl.Int64(),
        "process": pl.Int64(),
        "device": pl.Int64(),
        "correlation": pl.Int64(),
    },
    EventKind.MEMSET: {
        **TIMES,
        "bytes": pl.Int64(),
        "process": pl.Int64(),
        "device": pl.Int64(),
        "correlation": pl.Int64(),
    },
    EventKind.GRAPH: {**TIMES, "process": pl.Int64(), "device": pl.Int64()},
    EventKind.CUDNN: {**TIMES, "name": pl.Int64()},
    EventKind.CUBLAS: {**TIMES, "name": pl.Int64()},
    EventKind.OS_RUNTIME: {**TIMES, "name": pl.Int64()},
    EventKind.RANGE: {
        **TIMES,
        "domain": pl.String(),
        "text": pl.String(),
        "process": pl.Int64(),
    },
}
"""Columns of each kind. All but the times may be null where the trace does not tell them."""


class UnreadableTableError(Exception):
    """A table of events cannot be used; the others may."""


@dataclass
class Findings:
    """What a reader has to tell beside the events; it is complete once all events were read."""

    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _dropped: dict[str, int] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Tell it once."""
        if text not in self.notes:
            self.notes.append(text)

    def drop_rows(self, table: str, rows: int) -> None:
        """Tell that rows of a table cannot be true."""
        self._dropped[table] = self._dropped.get(table, 0) + rows

    def all_notes(self) -> list[str]:
        """Return everything that was told of damage."""
        dropped = [
            f"{rows} rows of {table} are left out: their times cannot be true."
            for table, rows in self._dropped.items()
        ]
        return self.notes + dropped


class Trace(Protocol):
    """What one report holds."""

    @property
    def source(self) -> Literal["Nsys", "Kineto"]:
        """The profiler."""

    @property
    def version(self) -> str | None:
        """Its version."""

    @property
    def schema_version(self) -> str | None:
        """Version of the report's form."""

    @property
    def findings(self) -> Findings:
        """What is missing or damaged."""

    def batches(self, kind: EventKind) -> Iterator[pl.DataFrame]:
        """Yield the events of a kind, in the columns of `COLUMNS`, every row with valid times.

        Raises:
            UnreadableTableError: the events of this kind cannot be used.
        """

    def names(self) -> Mapping[int, str]:
        """Return the texts that the column `name` refers to."""
