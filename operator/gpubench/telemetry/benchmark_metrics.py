"""Where benchmarks stand, as Prometheus metrics. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from gpubench.api.benchmark import Progress
from gpubench.api.enums import BenchmarkPhase

IDENTITY = ("namespace", "benchmark")


@dataclass(frozen=True)
class BenchmarkSample:
    """One benchmark as it is exported. Times are seconds since the epoch."""

    namespace: str
    benchmark: str
    phase: BenchmarkPhase
    progress: Progress
    failure_budget: int | None
    """Runs that may be given up before the benchmark is; None where there is no limit."""
    started_at: float | None
    completed_at: float | None
    estimated_completion_at: float | None

    @property
    def identity(self) -> list[str]:
        """Values of the labels that every number carries."""
        return [self.namespace, self.benchmark]


def benchmark_metrics(samples: Iterable[BenchmarkSample]) -> Iterator[Metric]:
    """Yield phase, runs by phase, times and budget of benchmarks."""
    benchmarks = list(samples)
    yield _phases(benchmarks)
    yield _runs(benchmarks)
    for name, text, value in NUMBERS:
        family = GaugeMetricFamily(f"gpubench_benchmark_{name}", text, labels=IDENTITY)
        for benchmark in benchmarks:
            number = value(benchmark)
            if number is not None:
                family.add_metric(benchmark.identity, number)
        yield family


NUMBERS: tuple[tuple[str, str, Callable[[BenchmarkSample], float | None]], ...] = (
    ("failure_budget", "Runs that may be given up", lambda b: b.failure_budget),
    ("start_timestamp_seconds", "When its first run started", lambda b: b.started_at),
    ("completion_timestamp_seconds", "When its last run ended", lambda b: b.completed_at),
    (
        "estimated_completion_timestamp_seconds",
        "When it ends if runs take as long as finished ones did",
        lambda b: b.estimated_completion_at,
    ),
)


def _phases(benchmarks: Iterable[BenchmarkSample]) -> Metric:
    family = GaugeMetricFamily(
        "gpubench_benchmark_phase",
        "Where a benchmark stands; 1 for its phase",
        labels=[*IDENTITY, "phase"],
    )
    for benchmark in benchmarks:
        family.add_metric([*benchmark.identity, benchmark.phase], 1)
    return family


def _runs(benchmarks: Iterable[BenchmarkSample]) -> Metric:
    family = GaugeMetricFamily(
        "gpubench_benchmark_runs",
        "Runs of a benchmark by phase; together all that it has",
        labels=[*IDENTITY, "phase"],
    )
    for benchmark in benchmarks:
        progress = benchmark.progress
        for phase, count in (
            ("Pending", progress.pending),
            ("Running", progress.running),
            ("Succeeded", progress.succeeded),
            ("Invalid", progress.invalid),
            ("Failed", progress.failed),
        ):
            family.add_metric([*benchmark.identity, phase], count)
    return family
