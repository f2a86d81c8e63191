"""The operator's own state as Prometheus metrics, read from the cache when asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from gpubench.api.enums import BenchmarkPhase, RunPhase
from gpubench.controller.cache import BenchmarkCache, ClusterCache
from gpubench.controller.health import Health
from gpubench.telemetry.run_metrics import RunSample, run_metrics


class ClusterCollector(Collector):
    """Exports what the cache holds; a replica that stands by exports nothing of runs."""

    def __init__(self, cluster: ClusterCache, health: Health) -> None:
        self._cluster = cluster
        self._health = health

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        yield GaugeMetricFamily(
            "gpubench_operator_event_age_seconds",
            "Time since the last watch event",
            value=self._health.event_age_seconds,
        )
        yield GaugeMetricFamily(
            "gpubench_operator_leader",
            "Whether this replica acts",
            value=float(self._health.is_leader),
        )
        samples = [sample for cache in self._cluster.benchmarks() for sample in _samples(cache)]
        yield _counts("runs", "Runs", RunPhase, Counter(s.phase for s in samples))
        yield _counts("benchmarks", "Benchmarks", BenchmarkPhase, self._benchmark_phases())
        yield from run_metrics(samples)

    def _benchmark_phases(self) -> Counter[str]:
        bodies = [cache.body for cache in self._cluster.benchmarks() if cache.body is not None]
        return Counter((body.get("status") or {}).get("phase", "Pending") for body in bodies)


def _counts(
    what: str, text: str, phases: type[RunPhase] | type[BenchmarkPhase], counts: Counter[str]
) -> Metric:
    family = GaugeMetricFamily(f"gpubench_operator_{what}", f"{text} by phase", labels=["phase"])
    for phase in phases:
        family.add_metric([phase], counts[phase])
    return family


def _samples(cache: BenchmarkCache) -> Iterator[RunSample]:
    if cache.body is None:
        return
    metadata = cache.body["metadata"]
    for record in list(cache.runs.values()):
        status = record.status
        yield RunSample(
            namespace=metadata["namespace"],
            benchmark=metadata["name"],
            run=record.name,
            phase=status.phase,
            parameters=record.parameters,
            attempts=len(status.attempts),
            gpu_seconds=status.timing.gpu_seconds or 0.0,
            validity=status.validity.status if status.validity else None,
            result=status.result,
        )
