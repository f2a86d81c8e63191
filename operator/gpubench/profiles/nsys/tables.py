"""Which tables and columns of an Nsight Systems export hold which events.

Written from exports of the schemas 3.0 to 3.25, which name these alike. Tables are made when the
first event comes (unless exported with `--lazy false`), and columns were added over the years, so
each may be missing. What the tables of versions to come call otherwise would go here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpubench.profiles.events import EventKind

STRINGS = "StringIds"
META_TABLES = ("META_DATA_EXPORT", "EXPORT_META_DATA")
"""What tells the versions: since 2023, and before."""
VERSION_KEYS = ("EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION")


@dataclass(frozen=True)
class EventTable:
    """A table of an export, and which of its columns becomes which of ours."""

    name: str
    needed: Mapping[str, str]
    """Without one of these the table is of no use."""
    wanted: Mapping[str, str]
    """Null where the table lacks them."""
    event_class: int | None = None
    """Class of the rows that count, where the table has several."""


# globalTid and globalPid: the upper 40 bits are the process (with machine and hypervisor), the
# lower 24 the thread.
TABLES: Mapping[EventKind, EventTable] = {
    EventKind.API: EventTable(
        "CUPTI_ACTIVITY_KIND_RUNTIME",
        {"start": "start", "end": "end", "name": "nameId"},
        {"process": "globalTid", "correlation": "correlationId"},
    ),
    EventKind.KERNEL: EventTable(
        "CUPTI_ACTIVITY_KIND_KERNEL",
        {"start": "start", "end": "end", "name": "shortName"},
        {"process": "globalPid", "device": "deviceId", "correlation": "correlationId"},
    ),
    EventKind.COPY: EventTable(
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        {"start": "start", "end": "end", "copy_kind": "copyKind"},
        {
            "source_memory": "srcKind",
            "target_memory": "dstKind",
            "bytes": "bytes",
            "process": "globalPid",
            "device": "deviceId",
            "correlation": "correlationId",
        },
    ),
    EventKind.MEMSET: EventTable(
        "CUPTI_ACTIVITY_KIND_MEMSET",
        {"start": "start", "end": "end"},
        {
            "bytes": "bytes",
            "process": "globalPid",
            "device": "deviceId",
            "correlation": "correlationId",
        },
    ),
    EventKind.GRAPH: EventTable(
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
        {"start": "start", "end": "end"},
        {"process": "globalPid", "device": "deviceId"},
    ),
    EventKind.CUDNN: EventTable(
        "CUDNN_EVENTS", {"start": "start", "end": "end", "name": "nameId"}, {}
    ),
    EventKind.CUBLAS: EventTable(
        "CUBLAS_EVENTS", {"start": "start", "end": "end", "name": "nameId"}, {}
    ),
    EventKind.OS_RUNTIME: EventTable(
        "OSRT_API",
        {"start": "start", "end": "end", "name": "nameId", "event_class": "eventClass"},
        {},
        # Others are marks: tracing began, tracing ended.
        event_class=27,
    ),
    EventKind.RANGE: EventTable(
        "NVTX_EVENTS",
        {"start": "start", "end": "end", "event_type": "eventType"},
        {"text": "text", "text_id": "textId", "domain_id": "domainId", "process": "globalTid"},
    ),
}

DOMAIN_EVENT = 75
"""Event type of a domain's name (NvtxDomainCreate)."""
RANGE_EVENTS = (59, 60, 70, 71)
"""Event types of ranges: pushed and popped, started and ended, and both again for NVTXT."""
TEXT_COLUMNS = frozenset({"name", "text", "value"})
"""Columns of texts; all others that are read hold whole numbers."""
PROCESS_BITS = 24
"""A global process or thread is divided by 2 to this power."""
