"""One run as it is exported, and the form of its metrics. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from gpubench.api.compact import CompactResult
from gpubench.api.enums import Outcome, RunPhase, Strategy, ValidityStatus
from gpubench.api.run_telemetry import RunTelemetry

IDENTITY = ("namespace", "benchmark", "run")
"""Labels that every number of a run carries."""


@dataclass(frozen=True)
class RunPod:
    """A pod that executes the run now."""

    name: str
    node: str


@dataclass(frozen=True)
class RunSample:
    """One run as it is exported. Times are seconds since the epoch."""

    namespace: str
    benchmark: str
    run: str
    phase: RunPhase
    parameters: Mapping[str, str]
    attempts: int
    gpu_seconds: float
    validity: ValidityStatus | None
    result: CompactResult | None
    failed_gates: Sequence[str] = ()
    """Checks that the result did not pass, by the present rules."""
    started_at: float | None = None
    completed_at: float | None = None
    pods: Sequence[RunPod] = ()
    telemetry: RunTelemetry | None = None
    """What DCGM saw."""

    @property
    def identity(self) -> list[str]:
        """Values of the labels that every number carries."""
        return [self.namespace, self.benchmark, self.run]

    @property
    def valid_result(self) -> CompactResult | None:
        """The result, if its numbers may be used: a panel would average the others in."""
        result = self.result
        if result is None or self.validity is not ValidityStatus.VALID:
            return None
        return result if result.outcome is Outcome.SUCCEEDED else None

    @property
    def gpus(self) -> int | None:
        """GPUs of the run, on a CPU ranks."""
        gpus = self.parameters.get("gpus", "")
        return int(gpus) if gpus.isdecimal() else None

    @property
    def ranks(self) -> int | None:
        """Processes that train: DataParallel has one for all GPUs."""
        return 1 if self.parameters.get("strategy") == Strategy.DATA_PARALLEL else self.gpus


@dataclass(frozen=True)
class Number:
    """A number of each valid result."""

    name: str
    help: str
    value: Callable[[CompactResult], float | None]


def run_gauge(
    name: str, text: str, values: Iterable[tuple[RunSample, float | None]]
) -> GaugeMetricFamily:
    """Return `gpubench_run_<name>`; a value that is not known is left out."""
    family = GaugeMetricFamily(f"gpubench_run_{name}", text, labels=IDENTITY)
    for run, value in values:
        if value is not None:
            family.add_metric(run.identity, value)
    return family


def labelled_gauge(
    name: str, text: str, label: str, values: Iterable[tuple[RunSample, str, float]]
) -> Metric:
    """Return `gpubench_run_<name>` with one more label."""
    family = GaugeMetricFamily(f"gpubench_run_{name}", text, labels=[*IDENTITY, label])
    for run, word, value in values:
        family.add_metric([*run.identity, word], value)
    return family
