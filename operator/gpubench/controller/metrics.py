"""The operator's own state as Prometheus metrics, read from the cache when asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from pydantic import ValidationError

from gpubench.api.benchmark import GPUBenchmarkStatus
from gpubench.api.enums import AttemptState, BenchmarkPhase, RunPhase
from gpubench.controller.cache import BenchmarkCache, ClusterCache, Object, RunRecord
from gpubench.controller.health import Health
from gpubench.lifecycle.timestamps import from_timestamp
from gpubench.telemetry.benchmark_metrics import BenchmarkSample, benchmark_metrics
from gpubench.telemetry.dcgm_metrics import dcgm_metrics
from gpubench.telemetry.run_metrics import run_metrics
from gpubench.telemetry.run_sample import RunPod, RunSample


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
        known = [
            (cache, cache.body) for cache in self._cluster.benchmarks() if cache.body is not None
        ]
        benchmarks = [_benchmark_sample(body) for _, body in known]
        runs = [sample for cache, body in known for sample in _run_samples(cache, body)]
        yield _counts("runs", "Runs", RunPhase, Counter(run.phase for run in runs))
        phases = Counter(benchmark.phase for benchmark in benchmarks)
        yield _counts("benchmarks", "Benchmarks", BenchmarkPhase, phases)
        yield from benchmark_metrics(benchmarks)
        yield from run_metrics(runs)
        yield from dcgm_metrics(runs)


def _counts(
    what: str,
    text: str,
    phases: type[RunPhase] | type[BenchmarkPhase],
    counts: Counter[RunPhase] | Counter[BenchmarkPhase],
) -> Metric:
    family = GaugeMetricFamily(f"gpubench_operator_{what}", f"{text} by phase", labels=["phase"])
    by_name = {str(phase): count for phase, count in counts.items()}
    for phase in phases:
        family.add_metric([phase], by_name.get(phase, 0))
    return family


def _benchmark_sample(body: Object) -> BenchmarkSample:
    try:
        status = GPUBenchmarkStatus.model_validate(body.get("status") or {})
    except ValidationError:
        # Nobody but a hand can have broken it; it is written anew soon.
        status = GPUBenchmarkStatus()
    metadata = body["metadata"]
    return BenchmarkSample(
        namespace=metadata["namespace"],
        benchmark=metadata["name"],
        phase=status.phase,
        progress=status.progress,
        failure_budget=(body["spec"].get("execution") or {}).get("failureBudget"),
        started_at=_moment(status.start_time),
        completed_at=_moment(status.completion_time),
        estimated_completion_at=_moment(status.estimated_completion_time),
    )


def _run_samples(cache: BenchmarkCache, body: Object) -> Iterator[RunSample]:
    metadata = body["metadata"]
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
            telemetry=status.telemetry,
            failed_gates=_failed_gates(record),
            started_at=_moment(status.timing.start_time),
            completed_at=_moment(status.timing.completion_time),
            pods=[
                RunPod(pod.name, pod.node or "")
                for pod in list(cache.pods.get(record.name, {}).values())
                if pod.state is AttemptState.RUNNING
            ],
        )


def _failed_gates(record: RunRecord) -> list[str]:
    """Return the gates that failed, each once."""
    validity = record.status.validity
    gates = [gate.name for gate in validity.failed_gates] if validity else []
    return list(dict.fromkeys(str(gate) for gate in gates))


def _moment(timestamp: str | None) -> float | None:
    return from_timestamp(timestamp) if timestamp else None
