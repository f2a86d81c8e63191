"""Runs as the operator exports them, and what a scrape of them reads."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from gpubench.api.compact import CompactFamily, CompactProfile, CompactResult, CompactTelemetry
from gpubench.api.enums import Family, RunPhase, ValidityStatus
from gpubench.telemetry.run_metrics import run_metrics
from gpubench.telemetry.run_sample import RunPod, RunSample
from tests.unit.lifecycle.results import good_result

PROFILE = CompactProfile(
    source="Nsys",
    window_seconds=10.0,
    overhead=0.04,
    idle_share=0.25,
    families={
        Family.CUDA_LAUNCH_KERNEL: CompactFamily(calls=1000, seconds=5.0, max_rank=3.0),
        Family.NCCL_ALL_REDUCE: CompactFamily(calls=80, seconds=2.0, max_rank=1.0),
    },
)
FULL = good_result().model_copy(
    update={
        "flops_per_second": 1e12,
        "mfu": 0.5,
        "tokens_per_second": 10.0,
        "peak_memory_bytes": [1, 2],
        "telemetry": CompactTelemetry(utilization=0.5, power_watts=300.0, energy_joules=9e3),
        "profile": PROFILE,
    }
)
"""A result with everything that a pod can hand over."""


class Exported(Collector):
    """Exports metrics as the operator does."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self.metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        return self.metrics


def sample(
    result: CompactResult | None = FULL,
    validity: ValidityStatus | None = ValidityStatus.VALID,
    *,
    phase: RunPhase = RunPhase.SUCCEEDED,
    run: str = "demo-abcdefghij-1",
    **parameters: str,
) -> RunSample:
    return RunSample(
        namespace="lab",
        benchmark="demo",
        run=run,
        phase=phase,
        parameters={"gpus": "2", **parameters},
        attempts=2,
        gpu_seconds=12.5,
        validity=validity,
        result=result,
        failed_gates=["Profile"],
        started_at=1000.0,
        completed_at=1060.0,
        pods=[RunPod(f"{run}-2-master-0", "node-1")],
    )


def exposition(metrics: Iterable[Metric]) -> str:
    """Return what a scrape reads."""
    registry = CollectorRegistry()
    registry.register(Exported(metrics))
    return generate_latest(registry).decode()


def read(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Return labels and values by name, as they are read from an exposition."""
    return {
        family.name: [(found.labels, found.value) for found in family.samples]
        for family in text_string_to_metric_families(text)
    }


def exported(*samples: RunSample) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Return labels and values by name, as a scrape of these runs reads them."""
    return read(exposition(run_metrics(samples)))
