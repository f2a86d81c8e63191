"""The profiles of valid results as Prometheus metrics. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from gpubench.api.compact import CompactFamily, CompactProfile
from gpubench.telemetry.run_sample import IDENTITY, RunSample, labelled_gauge, run_gauge

Profiled = Sequence[tuple[RunSample, CompactProfile]]


def profile_metrics(runs: Sequence[RunSample]) -> Iterator[Metric]:
    """Yield where the time of runs with a valid result went, as far as they were profiled.

    A family's share is its time over that of the window on all ranks, as in a result.
    """
    profiled = [(run, run.result.profile) for run in runs if run.result and run.result.profile]
    yield _info(profiled)
    yield run_gauge(
        "profile_window_seconds",
        "Length of the profiled window",
        [(run, profile.window_seconds) for run, profile in profiled],
    )
    yield run_gauge(
        "profile_overhead_ratio",
        "Profiled over unprofiled iteration time, minus 1",
        [(run, profile.overhead) for run, profile in profiled],
    )
    yield run_gauge(
        "profile_idle_ratio",
        "Share of the window in which the GPU did nothing",
        [(run, profile.idle_share) for run, profile in profiled],
    )
    yield _families(
        "seconds",
        "Time in a family of events, all ranks",
        profiled,
        lambda family, _: family.seconds,
    )
    yield _families(
        "calls", "Events of a family, all ranks", profiled, lambda family, _: family.calls
    )
    yield _families(
        "share_ratio",
        "Time in a family of events over the window on all ranks",
        profiled,
        lambda family, whole: family.seconds / whole if whole else 0.0,
    )


def _info(profiled: Profiled) -> Metric:
    family = GaugeMetricFamily(
        "gpubench_run_profile_info",
        "Which profiler the profile is from",
        labels=[*IDENTITY, "source"],
    )
    for run, profile in profiled:
        family.add_metric([*run.identity, profile.source], 1)
    return family


def _families(
    name: str, text: str, profiled: Profiled, value: Callable[[CompactFamily, float], float]
) -> Metric:
    values = [
        (run, str(family), float(value(numbers, profile.window_seconds * (run.ranks or 1))))
        for run, profile in profiled
        for family, numbers in profile.families.items()
    ]
    return labelled_gauge(f"profile_family_{name}", text, "family", values)
