"""The final numbers of runs as Prometheus metrics. Pure.

`gpubench_run_info` carries the parameters; every number carries only namespace, benchmark and run
(and `rank`, `kind`, `family` or `gate` where it must), so that a panel joins them with
`group_left`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from gpubench.telemetry.profile_metrics import profile_metrics
from gpubench.telemetry.run_sample import (
    IDENTITY,
    Number,
    RunSample,
    labelled_gauge,
    run_gauge,
)

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
POINT = "point"
"""Label that repetitions of a point share: its hash."""
SCALING_GROUP = "scaling_group"
"""Label that runs share which differ in nothing but their GPUs and repetition."""

NUMBERS = (
    Number("setup_seconds", "Start of the processes to the first step", lambda r: r.setup_seconds),
    Number("training_seconds", "All epochs, without evaluation", lambda r: r.training_seconds),
    Number("evaluation_seconds", "Evaluation", lambda r: r.evaluation_seconds),
    Number("seconds", "The whole attempt", lambda r: r.total_seconds),
    Number("steps", "Optimizer steps", lambda r: r.steps),
    Number("samples_per_second", "Trained samples of all ranks", lambda r: r.samples_per_second),
    Number(
        "dataset_samples_per_second",
        "Progress through the dataset",
        lambda r: r.dataset_samples_per_second,
    ),
    Number("tokens_per_second", "Real tokens", lambda r: r.tokens_per_second),
    Number("accuracy_ratio", "Accuracy on the test set", lambda r: r.accuracy),
    Number("final_loss", "Mean training loss of the last epoch", lambda r: r.final_loss),
    Number("flops_per_second", "Arithmetic rate of all ranks", lambda r: r.flops_per_second),
    Number("mfu_ratio", "Rate over the devices' peak", lambda r: r.mfu),
    Number(
        "gpu_power_watts",
        "Mean power of a GPU",
        lambda r: r.telemetry.power_watts if r.telemetry else None,
    ),
    Number(
        "gpu_energy_joules",
        "Energy of all GPUs",
        lambda r: r.telemetry.energy_joules if r.telemetry else None,
    ),
    Number(
        "gpu_utilization_ratio",
        "Share of time with a kernel running",
        lambda r: r.telemetry.utilization if r.telemetry else None,
    ),
)


def run_metrics(samples: Iterable[RunSample]) -> Iterator[Metric]:
    """Yield the metrics of runs: parameters and state of all, numbers of valid results only."""
    runs = list(samples)
    yield from _states(runs)
    valid = [run for run in runs if run.valid_result is not None]
    for number in NUMBERS:
        values = [(run, number.value(run.valid_result)) for run in valid if run.valid_result]
        yield run_gauge(number.name, number.help, values)
    yield _iterations(valid)
    yield _peak_memory(valid)
    yield from profile_metrics(valid)


def _states(runs: Sequence[RunSample]) -> Iterator[Metric]:
    """Yield what is told of every run, whatever became of it."""
    yield _info(runs)
    phases = [(run, str(run.phase), 1.0) for run in runs]
    yield labelled_gauge("phase", "Where a run stands; 1 for its phase", "phase", phases)
    yield run_gauge("attempts", "Tries so far", [(run, run.attempts) for run in runs])
    yield run_gauge("gpus", "GPUs of the run", [(run, run.gpus) for run in runs])
    gpu_seconds = [(run, run.gpu_seconds) for run in runs]
    yield run_gauge("gpu_seconds", "GPU time of all attempts", gpu_seconds)
    yield run_gauge(
        "start_timestamp_seconds",
        "When its first pod started",
        [(run, run.started_at) for run in runs],
    )
    yield run_gauge(
        "completion_timestamp_seconds",
        "When its last attempt ended",
        [(run, run.completed_at) for run in runs],
    )
    failed = [(run, gate, 1.0) for run in runs for gate in run.failed_gates]
    yield labelled_gauge("gate_failed", "A check that the result did not pass", "gate", failed)
    yield _pods(runs)


def _info(runs: Iterable[RunSample]) -> Metric:
    labels = [*INFO, POINT, SCALING_GROUP]
    family = GaugeMetricFamily(
        "gpubench_run_info", "Parameters of a run", labels=[*IDENTITY, *labels, "validity"]
    )
    for run in runs:
        values = [run.parameters.get(name, "") for name in labels]
        family.add_metric([*run.identity, *values, run.validity or ""], 1)
    return family


def _pods(runs: Iterable[RunSample]) -> Metric:
    family = GaugeMetricFamily(
        "gpubench_run_pod_info",
        "A pod that executes the run now, by which what others measure of it is joined",
        labels=[*IDENTITY, "pod", "node"],
    )
    for run in runs:
        for pod in run.pods:
            family.add_metric([*run.identity, pod.name, pod.node], 1)
    return family


def _iterations(runs: Iterable[RunSample]) -> Metric:
    values = [
        (run, kind, float(value))
        for run in runs
        if run.result is not None and run.result.iteration is not None
        for kind, value in run.result.iteration.model_dump().items()
    ]
    text = "Seconds per steady step: mean, std, p50, p95, p99"
    return labelled_gauge("iteration_seconds", text, "kind", values)


def _peak_memory(runs: Iterable[RunSample]) -> Metric:
    values = [
        (run, str(rank), float(peak))
        for run in runs
        for rank, peak in enumerate(run.result.peak_memory_bytes if run.result else [])
    ]
    return labelled_gauge("peak_memory_bytes", "Peak memory of a rank", "rank", values)
