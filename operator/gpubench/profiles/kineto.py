"""Traces of torch.profiler (Kineto) in Chrome's trace format, JSON or gzipped JSON.

One trace is one process. What it has of the same kind as a report of Nsight Systems becomes the
same events; `docs/profiles.md` tells where the two differ. Times are microseconds with decimals.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic_core import from_json

from gpubench.profiles.errors import ProfileError
from gpubench.profiles.events import COLUMNS, MAX_TIME, EventKind, Findings
from gpubench.profiles.phases import PHASE_DOMAIN, PHASES
from gpubench.profiles.validity import check_gpus, sized, valid_times

KINDS: Mapping[str, EventKind] = {
    "cuda_runtime": EventKind.API,
    "cuda_driver": EventKind.API,
    "runtime": EventKind.API,
    "kernel": EventKind.KERNEL,
    "gpu_memcpy": EventKind.COPY,
    "memcpy": EventKind.COPY,
    "gpu_memset": EventKind.MEMSET,
    "memset": EventKind.MEMSET,
    "user_annotation": EventKind.RANGE,
    "cpu_op": EventKind.RANGE,
    "operator": EventKind.RANGE,
}
"""By category of the events, those of versions before 1.12 included, without regard to case."""
LOOKED_FOR: Mapping[EventKind, str] = {
    EventKind.API: "cuda_runtime",
    EventKind.KERNEL: "kernel",
    EventKind.COPY: "gpu_memcpy",
    EventKind.MEMSET: "gpu_memset",
    EventKind.RANGE: "user_annotation",
}
COPY_KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8, "HtoH": 9, "PtoP": 10}
"""By the second word of `Memcpy HtoD (Pinned -> Device)`, as numbers of CUPTI."""
MEMORY_KINDS = {"Pageable": 0, "Pinned": 1, "Device": 2, "Array": 3, "Managed": 4}
NANOSECONDS_PER_MICROSECOND = 1000


class KinetoTrace:
    """The events of one trace of torch.profiler."""

    source: Literal["Kineto"] = "Kineto"
    version: str | None = None

    def __init__(self, path: Path) -> None:
        self.findings = Findings()
        self._ids: dict[str, int] = {}
        document = _read(path)
        self.schema_version = _text(document.get("schemaVersion"))
        self._rows: dict[EventKind, list[tuple[Any, ...]]] = {kind: [] for kind in LOOKED_FOR}
        self._damaged: dict[EventKind, int] = {}
        for event in document["traceEvents"]:
            self._take(event)

    def names(self) -> Mapping[int, str]:
        """Return the names of calls and kernels."""
        return {number: name for name, number in self._ids.items()}

    def batches(self, kind: EventKind) -> Iterator[pl.DataFrame]:
        """Yield the events of a kind."""
        if kind not in LOOKED_FOR:
            return
        rows = self._rows[kind]
        if damaged := self._damaged.get(kind):
            self.findings.drop_rows(LOOKED_FOR[kind], damaged)
        if not rows:
            self.findings.missing.append(LOOKED_FOR[kind])
            return
        events = pl.DataFrame(rows, schema=dict(COLUMNS[kind]), orient="row")
        events = sized(events, LOOKED_FOR[kind], self.findings)
        check_gpus(events, LOOKED_FOR[kind], self.findings)
        yield valid_times(events, LOOKED_FOR[kind], self.findings)

    def _take(self, event: object) -> None:
        if not isinstance(event, dict) or event.get("ph") != "X":
            return
        kind = KINDS.get(str(event.get("cat")).lower())
        if kind is None:
            return
        begin, length = _nanoseconds(event.get("ts")), _nanoseconds(event.get("dur"))
        name = event.get("name")
        if begin is None or length is None or not isinstance(name, str):
            self._damaged[kind] = self._damaged.get(kind, 0) + 1
            return
        details = event.get("args")
        found = self._columns(kind, name, details if isinstance(details, dict) else {}, event)
        self._rows[kind].append((begin, begin + length, *found))

    def _columns(
        self, kind: EventKind, name: str, details: dict[Any, Any], event: dict[Any, Any]
    ) -> tuple[Any, ...]:
        """Return what comes after the times in `COLUMNS`."""
        correlation, size = _number(details.get("correlation")), _number(details.get("bytes"))
        device = _number(details.get("device", event.get("pid")))
        if kind is EventKind.API:
            return self._id(name), 0, correlation
        if kind is EventKind.KERNEL:
            return self._id(name), 0, device, correlation
        if kind is EventKind.COPY:
            return *_copy(name), size, 0, device, correlation
        if kind is EventKind.MEMSET:
            return size, 0, device, correlation
        own = str(event.get("cat")).lower() == "user_annotation"
        plain = name.removeprefix(f"{PHASE_DOMAIN}:")
        return PHASE_DOMAIN if own and plain in PHASES else None, plain, 0

    def _id(self, name: str) -> int:
        return self._ids.setdefault(name, len(self._ids))


def _read(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        document = from_json(content, cache_strings="keys")
    except (OSError, EOFError, zlib.error, ValueError) as error:
        msg = f"{path}: not a trace that can be read ({str(error).splitlines()[0][:200]})"
        raise ProfileError(msg) from None
    if not isinstance(document, dict) or not isinstance(document.get("traceEvents"), list):
        msg = f"{path}: not a trace of torch.profiler (it has no list traceEvents)"
        raise ProfileError(msg)
    return document


def _nanoseconds(microseconds: object) -> int | None:
    """Return a time in whole nanoseconds; None if it can be none."""
    if isinstance(microseconds, bool) or not isinstance(microseconds, int | float):
        return None
    if not abs(microseconds) < MAX_TIME / NANOSECONDS_PER_MICROSECOND:  # nor if it is no number
        return None
    return round(microseconds * NANOSECONDS_PER_MICROSECOND)


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < MAX_TIME else None


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, int | str) else None


def _copy(name: str) -> tuple[int, int | None, int | None]:
    """Return kind, source and target of a copy such as `Memcpy HtoD (Pinned -> Device)`."""
    words = name.replace("(", " ").replace(")", " ").split()
    kind = COPY_KINDS.get(words[1], 0) if len(words) > 1 else 0
    source, target = (words[2], words[4]) if len(words) > 4 else ("", "")
    return kind, MEMORY_KINDS.get(source), MEMORY_KINDS.get(target)
