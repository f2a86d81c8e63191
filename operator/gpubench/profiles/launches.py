"""From the start of the call that launches a kernel to the kernel's start.

A call and what it launched carry the same correlation, which is unique within a process.
"""

from __future__ import annotations

import polars as pl

from gpubench.profiles.events import Findings

MAX_CORRELATION = 2**32
_PROCESSES = 2**31
_SCHEMA = {"launch": pl.Int64, "start": pl.Int64}
_SMALLEST = pl.DataFrame(schema={"latency": pl.Int64})


def launch_keys(events: pl.DataFrame) -> pl.DataFrame:
    """Return `launch` and `start` of each event; those without a correlation are left out."""
    correlation, process = pl.col("correlation"), pl.col("process").fill_null(0)
    return events.filter(correlation.is_between(1, MAX_CORRELATION - 1)).select(
        (process % _PROCESSES * MAX_CORRELATION + correlation).alias("launch"), "start"
    )


def latencies(
    calls: list[pl.DataFrame], kernels: list[pl.DataFrame], findings: Findings
) -> pl.DataFrame:
    """Return the `latency` of every kernel whose launch is known, in nanoseconds.

    Kernels of a CUDA graph have none of their own: one call launches all of them.
    """
    if not calls or not kernels:
        return _SMALLEST
    call, kernel = pl.concat(calls), pl.concat(kernels)
    found = kernel.join(call, on="launch", how="inner", suffix="_call")
    if found.height > min(kernel.height, call.height):
        findings.note("Launches carry the same number twice, so their latency is not known.")
        return _SMALLEST
    latency = found.select((pl.col("start") - pl.col("start_call")).alias("latency"))
    early = latency.filter(pl.col("latency") < 0).height
    if early:
        findings.note(
            f"{early} kernels begin before the call that launched them; "
            "they are left out of the launch latency."
        )
    return latency.filter(pl.col("latency") >= 0)
