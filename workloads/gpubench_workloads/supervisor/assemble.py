"""From the reports and step tables of all ranks to one result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from gpubench.api.enums import DeviceKind, Outcome
from gpubench.api.layout import STEPS_FILE
from gpubench.api.result import (
    Device,
    Distribution,
    Efficiency,
    Failure,
    Parameters,
    Provenance,
    RunResult,
    Telemetry,
    Throughput,
    Timing,
    Work,
)
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.reporting.rank_report import RankReport, rank_steps_path
from gpubench_workloads.supervisor.gates import MIN_STEADY_STEPS
from gpubench_workloads.supervisor.peak_flops import peak_flops_per_second
from gpubench_workloads.supervisor.provenance import processor_name


def failed_result(spec: RunSpec, failure: Failure, provenance: Provenance) -> RunResult:
    """Return the result of an attempt that did not reach its end."""
    return RunResult(
        identity=spec.identity,
        parameters=Parameters(workload=spec.workload, gpus=spec.gpus),
        outcome=Outcome.FAILED,
        failure=failure,
        provenance=provenance,
    )


def succeeded_result(
    spec: RunSpec,
    reports: Sequence[RankReport],
    steps: pl.DataFrame,
    *,
    started_at: float,
    total_seconds: float,
    provenance: Provenance,
    telemetry: Telemetry | None,
) -> RunResult:
    """Return the result of an attempt whose every rank trained to its end, not yet judged.

    `started_at` is the attempt's start in seconds since the epoch; `steps` holds the steps of all
    ranks as `rank_steps_path` describes them.
    """
    first = reports[0]
    measured = measured_steps(steps)
    throughput = _throughput(measured, reports)
    return RunResult(
        identity=spec.identity,
        parameters=Parameters(workload=spec.workload, gpus=spec.gpus),
        outcome=Outcome.SUCCEEDED,
        device=_device(spec, reports),
        timing=_timing(measured, reports, started_at, total_seconds),
        throughput=throughput,
        work=Work(
            samples_loaded=[report.samples_loaded for report in reports],
            samples_trained=[report.samples_trained for report in reports],
            dataset_samples=first.dataset_samples,
            tokens_trained=[r.tokens_trained for r in reports if r.tokens_trained is not None],
            padding_tokens=[r.padding_tokens for r in reports if r.padding_tokens is not None],
            epochs=first.epochs,
        ),
        quality=first.quality,
        memory=[report.memory for report in reports if report.memory],
        efficiency=_efficiency(spec, first, throughput),
        telemetry=telemetry,
        provenance=provenance,
    )


def gather_steps(attempt_folder: Path, ranks: int) -> pl.DataFrame:
    """Return the steps of all ranks in one table and keep it as the attempt's steps.parquet."""
    paths = [rank_steps_path(attempt_folder, rank) for rank in range(ranks)]
    steps = pl.concat([pl.read_parquet(path) for path in paths if path.exists()])
    steps.write_parquet(attempt_folder / STEPS_FILE)
    for path in paths:
        path.unlink(missing_ok=True)
    return steps


def iteration_seconds(steps: pl.DataFrame) -> pl.Series:
    """Return the seconds of each step: those of its slowest rank."""
    slowest = steps.group_by("step").agg(pl.col("iteration_seconds").max())
    return slowest.sort("step")["iteration_seconds"]


def measured_steps(steps: pl.DataFrame) -> pl.DataFrame:
    """Return the steps that a result's numbers are of: the steady ones.

    Where a profiler left too few of them undisturbed, those that it slowed are all there is.
    """
    steady = steps.filter(_on_all_ranks("steady"))
    if steady["step"].n_unique() >= MIN_STEADY_STEPS or not steps["profiled"].any():
        return steady
    return steps.filter(_on_all_ranks("regular"))


def _on_all_ranks(column: str) -> pl.Expr:
    """Return whether a step is so on every rank; windows of seconds open one by one."""
    return pl.col(column).all().over("step")


def distribution(values: pl.Series) -> Distribution | None:
    """Return the series in numbers, percentiles interpolated linearly; None if it is empty."""
    if values.is_empty():
        return None

    def at(quantile: float) -> float:
        return float(values.quantile(quantile, "linear") or 0.0)

    return Distribution(
        count=len(values),
        mean=float(values.mean() or 0.0),  # type: ignore[arg-type]  # a Series of floats
        std=float(values.std() or 0.0) if len(values) > 1 else 0.0,  # type: ignore[arg-type]
        minimum=at(0.0),
        p50=at(0.5),
        p95=at(0.95),
        p99=at(0.99),
        maximum=at(1.0),
    )


def _timing(
    measured: pl.DataFrame, reports: Sequence[RankReport], started_at: float, total_seconds: float
) -> Timing:
    first = reports[0]
    iteration = distribution(iteration_seconds(measured))
    checkpoints = max(report.checkpoint_seconds for report in reports)
    first_steps = [r.first_step_at for r in reports if r.first_step_at is not None]
    return Timing(
        setup_seconds=max(max(first_steps, default=started_at) - started_at, 0.0),
        training_seconds=max(report.training_seconds for report in reports),
        evaluation_seconds=max(report.evaluation_seconds for report in reports),
        checkpoint_seconds=checkpoints or None,
        total_seconds=total_seconds,
        epoch_seconds=[
            max(seconds) for seconds in zip(*(r.epoch_seconds for r in reports), strict=True)
        ],
        epoch_estimate_seconds=(
            iteration.mean * first.epoch_steps if iteration and first.epoch_steps else None
        ),
        steps=first.steps,
        warmup_steps=first.warmup_steps,
        iteration=iteration,
        profiled=True if measured["profiled"].any() else None,
        phases=first.phases,
    )


def _throughput(measured: pl.DataFrame, reports: Sequence[RankReport]) -> Throughput | None:
    """Return the rates over the steps that count; None without any."""
    seconds = float(iteration_seconds(measured).sum())
    if seconds == 0.0:
        return None
    trained = sum(report.samples_trained for report in reports)
    # A run that ends within its first epoch has gone as far as it has trained.
    progressed = reports[0].dataset_samples * reports[0].epochs or trained
    rate = int(measured["samples"].sum()) / seconds
    return Throughput(
        samples_per_second=rate,
        dataset_samples_per_second=rate * progressed / trained if trained else 0.0,
        tokens_per_second=int(measured["tokens"].sum()) / seconds if "tokens" in measured else None,
    )


def _efficiency(
    spec: RunSpec, report: RankReport, throughput: Throughput | None
) -> Efficiency | None:
    if report.flops_per_sample is None or throughput is None:
        return None
    rate = report.flops_per_sample * throughput.samples_per_second
    peak = None
    if spec.device is DeviceKind.CUDA:
        one = peak_flops_per_second(report.device_name, spec.workload.parameters.precision)
        peak = one * spec.gpus if one is not None else None
    return Efficiency(
        flops_per_sample=report.flops_per_sample,
        flops_per_second=rate,
        peak_flops_per_second=peak,
        mfu=rate / peak if peak else None,
    )


def _device(spec: RunSpec, reports: Sequence[RankReport]) -> Device:
    on_cpu = spec.device is DeviceKind.CPU
    name = reports[0].device_name or (processor_name() if on_cpu else "unknown")
    return Device(
        kind=spec.device,
        name=name,
        count=spec.gpus,
        uuids=[uuid for report in reports for uuid in report.device_uuids],
        threads_per_rank=reports[0].threads if on_cpu else None,
    )
