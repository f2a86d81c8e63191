"""A client for NVIDIA's dcgm-exporter: what it serves, over time, joined to who used the GPUs.

    text      -> ExpositionParser  -> Exposition: readings of GPUs and MIG instances
    readings  -> ExporterHistory   -> samples, the rhythm of refreshes, gaps
    exporters -> Collector         -> a history of each, scraped side by side
    histories -> run_telemetry     -> utilisation, power, energy, XID errors, coverage

All but `Collector` and `scrape` is pure. docs/dcgm.md has an example.
"""

from __future__ import annotations

from gpubench.telemetry.dcgm.collector import Collector, ScrapeCounters
from gpubench.telemetry.dcgm.energy import Energy, Window, energy
from gpubench.telemetry.dcgm.exposition import (
    Exposition,
    ExpositionError,
    ExpositionParser,
    GpuId,
    GpuReading,
    PodId,
)
from gpubench.telemetry.dcgm.fields import FIELDS, Field
from gpubench.telemetry.dcgm.history import ExporterHistory, Sample
from gpubench.telemetry.dcgm.join import Attempt, Join, join
from gpubench.telemetry.dcgm.scrape import Bounds, ScrapeError, Trouble, scrape
from gpubench.telemetry.dcgm.summary import run_telemetry

__all__ = [
    "FIELDS",
    "Attempt",
    "Bounds",
    "Collector",
    "Energy",
    "ExporterHistory",
    "Exposition",
    "ExpositionError",
    "ExpositionParser",
    "Field",
    "GpuId",
    "GpuReading",
    "Join",
    "PodId",
    "Sample",
    "ScrapeCounters",
    "ScrapeError",
    "Trouble",
    "Window",
    "energy",
    "join",
    "run_telemetry",
    "scrape",
]
