"""Where a running attempt is, as Prometheus metrics, read from its progress file when asked.

The names and labels are those of docs/metrics.md: every number carries the run's identity and
nothing else, so that a panel joins it with `gpubench_run_info`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from gpubench.api.progress import AttemptProgress

IDENTITY = ("namespace", "benchmark", "run")


@dataclass(frozen=True)
class LiveRun:
    """What is known of an attempt before it starts."""

    namespace: str
    """Namespace of the run; empty on a machine without a cluster."""
    benchmark: str
    run: str
    attempt: int
    no_progress_seconds: int
    """How long no step may finish before the supervisor gives the attempt up."""
    gpu_uuids: Sequence[str] = ()
    """GPUs that it has, by which a reading without a pod's name finds its run."""

    @property
    def identity(self) -> list[str]:
        """Values of the labels that every number carries."""
        return [self.namespace, self.benchmark, self.run]


@dataclass(frozen=True)
class _Number:
    name: str
    help: str
    value: Callable[[AttemptProgress], float | None]


NUMBERS = (
    _Number("step", "Finished optimizer steps", lambda p: p.step),
    _Number("planned_steps", "Optimizer steps in all; 0 until that is known", lambda p: p.steps),
    _Number("epoch", "Current epoch, from 1; 0 before the first", lambda p: p.epoch),
    _Number("planned_epochs", "Epochs in all", lambda p: p.epochs),
    _Number(
        "samples_per_second", "Trained samples of all ranks lately", lambda p: p.samples_per_second
    ),
    _Number("iteration_seconds", "Seconds per step lately", lambda p: p.iteration_seconds),
    _Number("loss", "Training loss lately", lambda p: p.loss),
    _Number(
        "progress_timestamp_seconds",
        "When the attempt last told of progress, since the epoch",
        lambda p: p.time,
    ),
)


class LiveCollector(Collector):
    """Tells where an attempt is, whenever it is asked."""

    def __init__(self, run: LiveRun, progress_path: Path) -> None:
        """Tell of an attempt by its progress file, which need not be there yet."""
        self._run = run
        self._progress_path = progress_path

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of this moment."""
        run = self._run
        yield self._gauge("attempt", "Which try at the run this is", run.attempt)
        yield self._gauge(
            "no_progress_limit_seconds",
            "How long no step may finish before the attempt is given up",
            run.no_progress_seconds,
        )
        yield self._gpus()
        progress = self._read()
        if progress is None:
            return
        stage = GaugeMetricFamily(
            "gpubench_live_stage",
            "What the attempt is doing; 1 for its stage",
            labels=[*IDENTITY, "stage"],
        )
        stage.add_metric([*run.identity, progress.stage], 1)
        yield stage
        for number in NUMBERS:
            value = number.value(progress)
            if value is not None:
                yield self._gauge(number.name, number.help, value)

    def _gauge(self, name: str, text: str, value: float) -> Metric:
        family = GaugeMetricFamily(f"gpubench_live_{name}", text, labels=IDENTITY)
        family.add_metric(self._run.identity, value)
        return family

    def _gpus(self) -> Metric:
        family = GaugeMetricFamily(
            "gpubench_live_gpu_info", "A GPU that the attempt has", labels=[*IDENTITY, "UUID"]
        )
        for uuid in self._run.gpu_uuids:
            family.add_metric([*self._run.identity, uuid], 1)
        return family

    def _read(self) -> AttemptProgress | None:
        try:
            return AttemptProgress.model_validate_json(self._progress_path.read_bytes())
        except (OSError, ValueError):
            return None
