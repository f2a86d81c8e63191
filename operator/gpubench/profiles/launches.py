"""Which call launched which operation of a GPU: how long that took, and in which phase it was.

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
        (process % _PROCESSES * MAX_CORRELATION + correlation).alias("launch"), "start", "end"
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


def phase_times(
    phases: list[pl.DataFrame], calls: list[pl.DataFrame], operations: list[pl.DataFrame]
) -> dict[str, int]:
    """Return the nanoseconds of the operations that were launched in each phase.

    A call belongs to the phase (`text`) that began last before it, if that has not ended: whichever
    thread made it, because the backward pass has a thread of its own.
    """
    if not phases or not calls or not operations:
        return {}
    ordered = pl.concat(phases).select("text", "start", pl.col("end").alias("until")).sort("start")
    within = (
        pl.concat(calls)
        .sort("start")
        .join_asof(ordered, on="start", strategy="backward", check_sortedness=False)
        .filter(pl.col("start") < pl.col("until"))
    )
    launched = pl.concat(operations)
    found = launched.join(within.select("launch", "text"), on="launch", how="inner")
    if found.height > launched.height:
        return {}  # numbers of launches are not unique: nothing can be told
    times = found.group_by("text").agg((pl.col("end") - pl.col("start")).sum().alias("length"))
    return dict(times.rows())
