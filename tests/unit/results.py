"""Whole results and specs for tests, made through the real models."""

from __future__ import annotations

from gpubench.api.benchmark import Workload
from gpubench.api.enums import DatasetName, DeviceKind, FailureClass, Outcome, ValidityStatus
from gpubench.api.image_recognition import ImageDataset, ImageRecognition
from gpubench.api.result import (
    Device,
    Distribution,
    Failure,
    Parameters,
    Provenance,
    Quality,
    RunResult,
    Throughput,
    Timing,
    Validity,
    Work,
)
from gpubench.api.run_spec import RunIdentity, RunSpec

DIGITS = Workload(
    image_recognition=ImageRecognition(
        dataset=ImageDataset(name=DatasetName.DIGITS), image_size=32, epochs=2, workers=0
    )
)


def run_spec(workload: Workload = DIGITS, *, gpus: int = 2, attempt: int = 1) -> RunSpec:
    """Return the spec of an attempt on a CPU."""
    identity = RunIdentity(
        benchmark="demo",
        run="demo-abcdefghij-1",
        point_hash="abcdefghij",
        repetition=1,
        attempt=attempt,
    )
    return RunSpec(identity=identity, workload=workload, gpus=gpus, device=DeviceKind.CPU)


def provenance() -> Provenance:
    return Provenance(
        gpubench_version="0.1.0",
        started_at="2026-01-01T00:00:00.000Z",
        finished_at="2026-01-01T00:01:00.000Z",
        node="node",
    )


def succeeded(spec: RunSpec, *, accuracy: float = 0.97) -> RunResult:
    """Return a valid result of a spec."""
    seconds = Distribution(
        count=20, mean=0.1, std=0.01, minimum=0.09, p50=0.1, p95=0.11, p99=0.12, maximum=0.13
    )
    return RunResult(
        identity=spec.identity,
        parameters=Parameters(workload=spec.workload, gpus=spec.gpus),
        outcome=Outcome.SUCCEEDED,
        validity=Validity(status=ValidityStatus.VALID, gates=[]),
        device=Device(kind=DeviceKind.CPU, name="processor", count=spec.gpus),
        timing=Timing(
            setup_seconds=1.0,
            training_seconds=2.0,
            evaluation_seconds=0.5,
            total_seconds=4.0,
            steps=24,
            warmup_steps=4,
            iteration=seconds,
        ),
        throughput=Throughput(samples_per_second=640.0, dataset_samples_per_second=640.0),
        work=Work(
            samples_loaded=[720, 720], samples_trained=[720, 720], dataset_samples=1437, epochs=2
        ),
        quality=Quality(
            accuracy=accuracy,
            test_samples=360,
            first_loss=2.0,
            final_loss=0.1,
            epoch_losses=[2.0, 0.1],
        ),
        provenance=provenance(),
    )


def failed(spec: RunSpec, failure_class: FailureClass = FailureClass.CRASH) -> RunResult:
    """Return the result of a failed attempt of a spec."""
    return RunResult(
        identity=spec.identity,
        parameters=Parameters(workload=spec.workload, gpus=spec.gpus),
        outcome=Outcome.FAILED,
        failure=Failure(failure_class=failure_class, message="it went wrong"),
        provenance=provenance(),
    )
