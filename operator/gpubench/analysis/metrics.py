"""What is measured: each quantity's name, unit and where a result holds it.

A further quantity is one more entry here; every table then has its column, where it was measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from gpubench.api.result import RunResult


class Unit(StrEnum):
    """Decides how a number is written."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    PERCENT = "%"
    FACTOR = "×"
    PER_SECOND = "/s"
    MEBIBYTES = "MiB"
    GIBIBYTES = "GiB"
    WATTS = "W"
    KILOJOULES = "kJ"
    JOULES = "J"
    TERAFLOPS = "TFLOP/s"
    NUMBER = ""


@dataclass(frozen=True)
class Metric:
    """One measured quantity."""

    key: str
    title: str
    unit: Unit
    read: Callable[[RunResult], float | None]
    description: str = ""


def _total_time(result: RunResult) -> float | None:
    return result.timing.training_seconds if result.timing else None


def _epoch_estimate(result: RunResult) -> float | None:
    return result.timing.epoch_estimate_seconds if result.timing else None


def _accuracy(result: RunResult) -> float | None:
    accuracy = result.quality.accuracy if result.quality else None
    return None if accuracy is None else accuracy * 100


def _final_loss(result: RunResult) -> float | None:
    return result.quality.final_loss if result.quality else None


def _throughput(result: RunResult) -> float | None:
    return result.throughput.samples_per_second if result.throughput else None


def _progress_rate(result: RunResult) -> float | None:
    return result.throughput.dataset_samples_per_second if result.throughput else None


def _token_rate(result: RunResult) -> float | None:
    return result.throughput.tokens_per_second if result.throughput else None


def _iteration_mean(result: RunResult) -> float | None:
    iteration = result.timing.iteration if result.timing else None
    return iteration.mean * 1e3 if iteration else None


def _iteration_std(result: RunResult) -> float | None:
    iteration = result.timing.iteration if result.timing else None
    return iteration.std * 1e3 if iteration else None


def _iteration_p95(result: RunResult) -> float | None:
    iteration = result.timing.iteration if result.timing else None
    return iteration.p95 * 1e3 if iteration else None


def _setup(result: RunResult) -> float | None:
    return result.timing.setup_seconds if result.timing else None


def _evaluation(result: RunResult) -> float | None:
    return result.timing.evaluation_seconds if result.timing else None


def _device_memory(result: RunResult) -> float | None:
    peaks = [rank.allocated_bytes for rank in result.memory if rank.allocated_bytes is not None]
    return max(peaks) / 2**30 if peaks else None


def _main_memory(result: RunResult) -> float | None:
    peaks = [rank.resident_bytes for rank in result.memory if rank.resident_bytes is not None]
    return max(peaks) / 2**30 if peaks else None


def _utilization(result: RunResult) -> float | None:
    devices = result.telemetry.devices if result.telemetry else []
    known = [device.utilization_mean for device in devices if device.utilization_mean is not None]
    return sum(known) / len(known) * 100 if known else None


def _power(result: RunResult) -> float | None:
    """Sum over the GPUs; unknown if one of them does not tell."""
    devices = result.telemetry.devices if result.telemetry else []
    known = [device.power_mean_watts for device in devices if device.power_mean_watts is not None]
    return sum(known) if known and len(known) == len(devices) else None


def _energy(result: RunResult) -> float | None:
    """Sum over the GPUs; unknown if one of them does not tell."""
    devices = result.telemetry.devices if result.telemetry else []
    known = [device.energy_joules for device in devices if device.energy_joules is not None]
    return sum(known) / 1e3 if known and len(known) == len(devices) else None


def _energy_per_sample(result: RunResult) -> float | None:
    energy = _energy(result)
    trained = sum(result.work.samples_trained) if result.work else 0
    return energy * 1e3 / trained if energy is not None and trained else None


def _arithmetic_rate(result: RunResult) -> float | None:
    return result.efficiency.flops_per_second / 1e12 if result.efficiency else None


def _mfu(result: RunResult) -> float | None:
    mfu = result.efficiency.mfu if result.efficiency else None
    return None if mfu is None else mfu * 100


TOTAL_TIME = Metric(
    "totalTime",
    "Total time",
    Unit.SECONDS,
    _total_time,
    "Training of all epochs; set-up and evaluation are left out, as in the papers.",
)
EPOCH_ESTIMATE = Metric(
    "epochEstimate",
    "Whole epoch",
    Unit.SECONDS,
    _epoch_estimate,
    "Predicted: mean time of a steady step times the steps of an epoch, without checkpoints.",
)
ACCURACY = Metric(
    "accuracy",
    "Accuracy",
    Unit.PERCENT,
    _accuracy,
    "Share of the test set classified correctly after the last epoch.",
)
FINAL_LOSS = Metric(
    "finalLoss", "Final loss", Unit.NUMBER, _final_loss, "Mean training loss of the last epoch."
)
THROUGHPUT = Metric(
    "throughput",
    "Throughput",
    Unit.PER_SECOND,
    _throughput,
    "Trained samples per second of all ranks together, in steady state.",
)
PROGRESS_RATE = Metric(
    "progressRate",
    "Dataset progress",
    Unit.PER_SECOND,
    _progress_rate,
    "Progress through the dataset: samples that several ranks train on count once.",
)
TOKEN_RATE = Metric(
    "tokenRate", "Tokens", Unit.PER_SECOND, _token_rate, "Real tokens, padding left out."
)
ITERATION = Metric(
    "iteration",
    "Iteration",
    Unit.MILLISECONDS,
    _iteration_mean,
    "Mean time of a steady step, slowest rank at each step.",
)
ITERATION_STD = Metric(
    "iterationStd",
    "Step std",
    Unit.MILLISECONDS,
    _iteration_std,
    "Standard deviation from step to step within a run.",
)
ITERATION_P95 = Metric(
    "iterationP95",
    "Step p95",
    Unit.MILLISECONDS,
    _iteration_p95,
    "95 % of the steady steps are faster.",
)
SETUP = Metric(
    "setup", "Set-up", Unit.SECONDS, _setup, "From the start of the processes to the first step."
)
EVALUATION = Metric(
    "evaluation", "Evaluation", Unit.SECONDS, _evaluation, "Evaluation on the test set."
)
DEVICE_MEMORY = Metric(
    "deviceMemory",
    "Peak GPU memory",
    Unit.GIBIBYTES,
    _device_memory,
    "Most that tensors took on one GPU, the fullest rank.",
)
MAIN_MEMORY = Metric(
    "mainMemory",
    "Peak main memory",
    Unit.GIBIBYTES,
    _main_memory,
    "Most main memory of one rank's process, the fullest rank.",
)
UTILIZATION = Metric(
    "utilization",
    "GPU busy",
    Unit.PERCENT,
    _utilization,
    "Share of time with a kernel running, mean over the GPUs.",
)
POWER = Metric("power", "Power", Unit.WATTS, _power, "Mean power of all GPUs together.")
ENERGY = Metric("energy", "Energy", Unit.KILOJOULES, _energy, "Energy of all GPUs together.")
ENERGY_PER_SAMPLE = Metric(
    "energyPerSample",
    "Energy per sample",
    Unit.JOULES,
    _energy_per_sample,
    "Energy of all GPUs over the samples that they trained on, evaluations included.",
)
ARITHMETIC_RATE = Metric(
    "arithmeticRate",
    "Arithmetic",
    Unit.TERAFLOPS,
    _arithmetic_rate,
    "Rate of the model's own floating-point operations, all ranks together.",
)
MFU = Metric(
    "mfu",
    "MFU",
    Unit.PERCENT,
    _mfu,
    "Model FLOPs utilisation: arithmetic rate over the devices' dense peak.",
)

SPEED_METRICS = (THROUGHPUT, PROGRESS_RATE, TOKEN_RATE, ITERATION, ITERATION_STD, ITERATION_P95)
RESOURCE_METRICS = (
    DEVICE_MEMORY,
    MAIN_MEMORY,
    UTILIZATION,
    POWER,
    ENERGY,
    ENERGY_PER_SAMPLE,
    ARITHMETIC_RATE,
    MFU,
    SETUP,
    EVALUATION,
)
