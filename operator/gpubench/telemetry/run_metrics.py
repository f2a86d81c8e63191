"""The final numbers of runs as Prometheus metrics. Pure.

`gpubench_run_info` carries the parameters; every number carries only namespace, benchmark and run
(and `rank`, `quantile` or `kind` where it must), so that a panel joins them with `group_left`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from gpubench.api.compact import CompactResult
from gpubench.api.enums import Outcome, RunPhase, ValidityStatus

IDENTITY = ("namespace", "benchmark", "run")
INFO = (
    "workload",
    "model",
    "dataset",
    "gpus",
    "strategy",
    "method",
    "precision",
    "batch_size",
    "image_size",
    "pin_memory",
    "input_pipeline",
    "repetition",
)
"""Parameters that tell runs apart; one that a workload does not have is empty."""


@dataclass(frozen=True)
class RunSample:
    """One run as it is exported."""

    namespace: str
    benchmark: str
    run: str
    phase: RunPhase
    parameters: Mapping[str, str]
    attempts: int
    gpu_seconds: float
    validity: ValidityStatus | None
    result: CompactResult | None

    @property
    def identity(self) -> list[str]:
        """Values of the labels that every number carries."""
        return [self.namespace, self.benchmark, self.run]


@dataclass(frozen=True)
class _Number:
    name: str
    help: str
    value: Callable[[CompactResult], float | None]


NUMBERS = (
    _Number("setup_seconds", "Start of the processes to the first step", lambda r: r.setup_seconds),
    _Number("training_seconds", "All epochs, without evaluation", lambda r: r.training_seconds),
    _Number("evaluation_seconds", "Evaluation", lambda r: r.evaluation_seconds),
    _Number("seconds", "The whole attempt", lambda r: r.total_seconds),
    _Number("steps", "Optimizer steps", lambda r: r.steps),
    _Number("samples_per_second", "Trained samples of all ranks", lambda r: r.samples_per_second),
    _Number(
        "dataset_samples_per_second",
        "Progress through the dataset",
        lambda r: r.dataset_samples_per_second,
    ),
    _Number("tokens_per_second", "Real tokens", lambda r: r.tokens_per_second),
    _Number("accuracy_ratio", "Accuracy on the test set", lambda r: r.accuracy),
    _Number("final_loss", "Mean training loss of the last epoch", lambda r: r.final_loss),
    _Number("flops_per_second", "Arithmetic rate of all ranks", lambda r: r.flops_per_second),
    _Number("mfu_ratio", "Rate over the devices' peak", lambda r: r.mfu),
    _Number(
        "gpu_power_watts",
        "Mean power of a GPU",
        lambda r: r.telemetry.power_watts if r.telemetry else None,
    ),
    _Number(
        "gpu_energy_joules",
        "Energy of all GPUs",
        lambda r: r.telemetry.energy_joules if r.telemetry else None,
    ),
    _Number(
        "gpu_utilization_ratio",
        "Share of time with a kernel running",
        lambda r: r.telemetry.utilization if r.telemetry else None,
    ),
)


def run_metrics(samples: Iterable[RunSample]) -> Iterator[Metric]:
    """Yield the metrics of runs: parameters and state of all, numbers of valid results only.

    A result that failed a gate is not exported as a number: a panel would average it in.
    """
    runs = list(samples)
    yield _info(runs)
    yield _phases(runs)
    yield _family("attempts", "Tries so far", [(run, run.attempts) for run in runs])
    yield _family(
        "gpu_seconds", "GPU time of all attempts", [(run, run.gpu_seconds) for run in runs]
    )
    valid = [run for run in runs if run.validity is ValidityStatus.VALID]
    valid = [run for run in valid if run.result and run.result.outcome is Outcome.SUCCEEDED]
    for number in NUMBERS:
        yield _family(
            number.name,
            number.help,
            [(run, number.value(run.result)) for run in valid if run.result is not None],
        )
    yield _iterations(valid)
    yield _peak_memory(valid)


def _info(runs: Iterable[RunSample]) -> Metric:
    family = GaugeMetricFamily(
        "gpubench_run_info", "Parameters of a run", labels=[*IDENTITY, *INFO, "validity"]
    )
    for run in runs:
        values = [run.parameters.get(name, "") for name in INFO]
        family.add_metric([*run.identity, *values, run.validity or ""], 1)
    return family


def _phases(runs: Iterable[RunSample]) -> Metric:
    family = GaugeMetricFamily(
        "gpubench_run_phase", "Where a run stands; 1 for its phase", labels=[*IDENTITY, "phase"]
    )
    for run in runs:
        family.add_metric([*run.identity, run.phase], 1)
    return family


def _family(name: str, text: str, values: Iterable[tuple[RunSample, float | None]]) -> Metric:
    family = GaugeMetricFamily(f"gpubench_run_{name}", text, labels=IDENTITY)
    for run, value in values:
        if value is not None:
            family.add_metric(run.identity, value)
    return family


def _iterations(runs: Iterable[RunSample]) -> Metric:
    family = GaugeMetricFamily(
        "gpubench_run_iteration_seconds",
        "Seconds per steady step: mean, std, p50, p95, p99",
        labels=[*IDENTITY, "kind"],
    )
    for run in runs:
        iteration = run.result.iteration if run.result else None
        if iteration is not None:
            for kind, value in iteration.model_dump().items():
                family.add_metric([*run.identity, kind], value)
    return family


def _peak_memory(runs: Iterable[RunSample]) -> Metric:
    family = GaugeMetricFamily(
        "gpubench_run_peak_memory_bytes", "Peak memory of a rank", labels=[*IDENTITY, "rank"]
    )
    for run in runs:
        for rank, peak in enumerate(run.result.peak_memory_bytes if run.result else []):
            family.add_metric([*run.identity, str(rank)], peak)
    return family
