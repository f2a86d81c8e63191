"""Results and runs through the real models, as short as a test can say them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from gpubench.analysis.inputs import ReportInput, ReportRun
from gpubench.api.benchmark import GPUBenchmark, Workload
from gpubench.api.enums import (
    DatasetName,
    DeviceKind,
    FailureClass,
    Family,
    GateName,
    Outcome,
    RunPhase,
)
from gpubench.api.result import (
    CopyStatistics,
    Device,
    DeviceTelemetry,
    Distribution,
    Efficiency,
    Failure,
    FamilyStatistics,
    Gate,
    GpuActivity,
    Parameters,
    Profile,
    ProfileWindow,
    Provenance,
    Quality,
    RankMemory,
    RunResult,
    StepPhases,
    Telemetry,
    Throughput,
    Timing,
    Validity,
    Work,
)
from gpubench.api.run_spec import RunIdentity

BENCHMARK = "mobilenet-sweep"
MADE_AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
H100 = Device(kind=DeviceKind.CUDA, name="NVIDIA H100 SXM5 94GB", count=1)
H200 = Device(kind=DeviceKind.CUDA, name="NVIDIA H200", count=1)
CPU = Device(kind=DeviceKind.CPU, name="Intel Xeon Platinum 8480+", count=1)
PASSED = Gate(name=GateName.STEADY_STEPS, passed=True, message="90 steady steps, 10 needed")
SOFTWARE = {"python": "3.12.7", "torch": "2.11.0", "cuda": "12.8"}
MNIST_IMAGES = 60_000


def image_workload(**parameters: Any) -> Workload:
    """An image recognition workload; the paper's where nothing is said."""
    chosen = {"image_size": 500, "epochs": 20} | parameters
    return Workload.model_validate({"image_recognition": chosen})


def llm_workload(**parameters: Any) -> Workload:
    return Workload.model_validate({"llm_tuning": parameters})


def point_hash(workload: Workload, gpus: int) -> str:
    """Ten characters that differ where the point does, as in a real plan."""
    text = f"{workload.model_dump_json()} {gpus}"
    return base64.b32encode(hashlib.sha256(text.encode()).digest())[:10].decode().lower()


def identity(workload: Workload, gpus: int, repetition: int = 1, attempt: int = 1) -> RunIdentity:
    hashed = point_hash(workload, gpus)
    return RunIdentity(
        benchmark=BENCHMARK,
        run=f"{BENCHMARK}-{hashed}-{repetition}",
        point_hash=hashed,
        repetition=repetition,
        attempt=attempt,
    )


def distribution(mean: float, std: float | None = None) -> Distribution:
    return Distribution(
        count=90,
        mean=mean,
        std=mean * 0.02 if std is None else std,
        minimum=mean * 0.95,
        p50=mean,
        p95=mean * 1.04,
        p99=mean * 1.08,
        maximum=mean * 1.2,
    )


def make_result(
    workload: Workload,
    gpus: int = 1,
    *,
    seconds: float = 100.0,
    accuracy: float | None = 0.99,
    repetition: int = 1,
    attempt: int = 1,
    device: Device = H100,
    gates: Sequence[Gate] = (PASSED,),
    **changes: Any,
) -> RunResult:
    """A result of that training time; the other numbers follow from it."""
    parameters = workload.parameters
    samples = MNIST_IMAGES * parameters.epochs
    steps = max(samples // (parameters.batch_size * gpus), 1)
    step = seconds / steps
    rate = samples / seconds
    values: dict[str, Any] = {
        "identity": identity(workload, gpus, repetition, attempt),
        "parameters": Parameters(workload=workload, gpus=gpus),
        "outcome": Outcome.SUCCEEDED,
        "validity": Validity.from_gates(list(gates)),
        "device": device.model_copy(update={"count": gpus}),
        "timing": Timing(
            setup_seconds=4.0,
            training_seconds=seconds,
            evaluation_seconds=2.0,
            total_seconds=seconds + 6.5,
            steps=steps,
            warmup_steps=10,
            iteration=distribution(step),
            phases=StepPhases(
                data_seconds=step * 0.2,
                host_to_device_seconds=step * 0.15,
                compute_seconds=step * 0.6,
                optimizer_seconds=step * 0.05,
            ),
        ),
        "throughput": Throughput(samples_per_second=rate, dataset_samples_per_second=rate),
        "work": Work(
            samples_loaded=[samples // gpus] * gpus,
            samples_trained=[samples // gpus] * gpus,
            dataset_samples=MNIST_IMAGES,
            epochs=parameters.epochs,
        ),
        "quality": Quality(accuracy=accuracy, test_samples=10_000, final_loss=0.05),
        "provenance": make_provenance(),
    }
    return RunResult(**(values | changes))


def make_provenance(**changes: Any) -> Provenance:
    values: dict[str, Any] = {
        "gpubench_version": "0.1.0",
        "started_at": "2026-11-20T08:00:00Z",
        "finished_at": "2026-11-20T09:00:00Z",
        "node": "node-1",
        "software": SOFTWARE,
        "hardware": {"processor": "AMD EPYC 9334", "cores": "64"},
        "dataset": {"name": "mnist", "sha256": "8d4fb7e6", "trainImages": "60000"},
        "settings": {"backend": "nccl"},
    }
    return Provenance(**(values | changes))


def make_failure(
    workload: Workload,
    gpus: int = 1,
    *,
    message: str = "CUDA out of memory on rank 0",
    failure_class: FailureClass = FailureClass.OUT_OF_MEMORY,
    repetition: int = 1,
    attempt: int = 1,
) -> RunResult:
    """An attempt that failed."""
    return RunResult(
        identity=identity(workload, gpus, repetition, attempt),
        parameters=Parameters(workload=workload, gpus=gpus),
        outcome=Outcome.FAILED,
        failure=Failure(failure_class=failure_class, message=message, rank=0, exit_code=1),
        provenance=make_provenance(),
    )


def with_everything(result: RunResult) -> RunResult:
    """The result with every optional part filled in."""
    gpus = result.parameters.gpus
    return result.model_copy(
        update={
            "memory": [
                RankMemory(
                    rank=rank,
                    allocated_bytes=(20 + rank) * 2**30,
                    reserved_bytes=30 * 2**30,
                    resident_bytes=5 * 2**30,
                )
                for rank in range(gpus)
            ],
            "efficiency": Efficiency(
                flops_per_sample=9.4e9,
                flops_per_second=3.1e12 * gpus,
                peak_flops_per_second=67e12 * gpus,
                mfu=0.046,
            ),
            "telemetry": Telemetry(
                source="NVML",
                devices=[
                    DeviceTelemetry(
                        uuid=f"GPU-{rank}",
                        samples=100,
                        expected_samples=100,
                        utilization_mean=0.9,
                        power_mean_watts=400.0,
                        energy_joules=1.2e6,
                    )
                    for rank in range(gpus)
                ],
            ),
            "profile": make_profile(gpus),
        }
    )


def make_profile(gpus: int = 1, *, launch_share: float = 0.3) -> Profile:
    shares = {
        Family.MEMCPY_HOST_TO_DEVICE: 0.12,
        Family.CUDA_LAUNCH_KERNEL: launch_share,
        Family.CUDA_STREAM_SYNCHRONIZE: 0.2,
        Family.COMPUTE_KERNEL: 0.7,
        **({Family.NCCL_ALL_REDUCE: 0.05 * gpus} if gpus > 1 else {}),
    }
    return Profile(
        source="Nsys",
        window=ProfileWindow(seconds=60.0, first_step=20, steps=100),
        families={
            family: FamilyStatistics(
                calls=1000 * gpus,
                total_seconds=share * 60 * gpus,
                share=share,
                rank_total_seconds=[share * 60] * gpus,
                copies=CopyStatistics(
                    calls=1000 * gpus, total_seconds=share * 60 * gpus, total_bytes=100 * 2**20
                )
                if family is Family.MEMCPY_HOST_TO_DEVICE
                else None,
            )
            for family, share in shares.items()
        },
        overhead=0.02,
        idle_share=0.1,
        activity=GpuActivity(
            gpus=gpus,
            busy_seconds=54.0 * gpus,
            idle_share=0.1,
            compute_seconds=42.0 * gpus,
            communication_seconds=6.0 * gpus,
            exposed_communication_seconds=1.5 * gpus,
            communication_overlap=0.75,
            copy_seconds=8.0 * gpus,
            copy_overlap=0.5,
        ),
        launch_latency=Distribution(mean=4e-5, std=1e-5, p50=3.2e-5, p95=8e-5, p99=9e-5),
    )


def make_run(
    workload: Workload,
    gpus: int = 1,
    *attempts: RunResult,
    repetition: int = 1,
    state: RunPhase | None = None,
    given_up: Failure | None = None,
    parameters: dict[str, object] | None = None,
) -> ReportRun:
    """A run with these attempts; the last one that trained to its end stands for it."""
    succeeded = [each for each in attempts if each.outcome is Outcome.SUCCEEDED]
    accepted = succeeded[-1] if succeeded else None
    return ReportRun(
        name=identity(workload, gpus, repetition).run,
        point_hash=point_hash(workload, gpus),
        repetition=repetition,
        parameters=parameters or {},
        workload=workload,
        gpus=gpus,
        attempts=attempts,
        accepted=accepted,
        state=state or _state(accepted),
        given_up=given_up,
    )


def _state(accepted: RunResult | None) -> RunPhase:
    if accepted is None:
        return RunPhase.PENDING
    return RunPhase.SUCCEEDED if accepted.is_valid else RunPhase.INVALID


def valid_run(
    workload: Workload, gpus: int = 1, *, repetition: int = 1, **result: Any
) -> ReportRun:
    return make_run(
        workload,
        gpus,
        make_result(workload, gpus, repetition=repetition, **result),
        repetition=repetition,
    )


def invalid_run(
    workload: Workload, gpus: int = 1, *, repetition: int = 1, **result: Any
) -> ReportRun:
    failed = Gate(name=GateName.CLOCKS, passed=False, message="SM clock fell to 40 % of its base")
    return valid_run(workload, gpus, repetition=repetition, gates=[PASSED, failed], **result)


def failed_run(
    workload: Workload, gpus: int = 1, *, repetition: int = 1, **failure: Any
) -> ReportRun:
    attempt = make_failure(workload, gpus, repetition=repetition, **failure)
    return make_run(workload, gpus, attempt, repetition=repetition, state=RunPhase.FAILED)


def missing_run(workload: Workload, gpus: int = 1, *, repetition: int = 1) -> ReportRun:
    return make_run(workload, gpus, repetition=repetition)


def make_input(runs: Iterable[ReportRun], *, name: str = BENCHMARK, **spec: Any) -> ReportInput:
    workload = {"imageRecognition": {"imageSize": 500, "dataset": {"name": DatasetName.MNIST}}}
    benchmark = GPUBenchmark.model_validate(
        {"metadata": {"name": name}, "spec": {"workload": workload} | spec}
    )
    return ReportInput(
        benchmark=benchmark, runs=tuple(runs), generated_at=MADE_AT, source="results/sweep"
    )


HOSTILE = (
    "<script>alert(1)</script>\"'`|*_[x](http://evil)</script>"
    "<img src=x onerror=alert(1)>&{{7*7}}\n\N{LINE SEPARATOR}=cmd()"
)


def hostile_input() -> ReportInput:
    """Text that wants to be markup in every place where text of others can stand."""
    gate = Gate(name=GateName.CLOCKS, passed=False, message=HOSTILE)
    device = Device(kind=DeviceKind.CPU, name=HOSTILE, count=1)
    provenance = make_provenance(node=HOSTILE, software={"torch": HOSTILE, HOSTILE: "1"})
    first = image_workload(dataset={"name": "idx", "path": HOSTILE})
    second = image_workload(dataset={"name": "idx", "path": f"{HOSTILE}2"})
    invalid = valid_run(first, 1, device=device, gates=[gate], provenance=provenance)
    runs = [
        replace(invalid, name=HOSTILE, parameters={HOSTILE: HOSTILE}),
        failed_run(first, 2, message=HOSTILE),
        *(
            valid_run(workload, gpus, repetition=2, device=device)
            for workload in (first, second)
            for gpus in (1, 4)
        ),
    ]
    return replace(make_input(runs), source=HOSTILE)


def large_input(runs: int = 1000) -> ReportInput:
    """As many valid runs: five repetitions of a sweep over four axes."""
    points = [
        (image_workload(batch_size=batch, precision=precision, pin_memory=pinned), gpus)
        for batch in (16, 32, 64, 128, 256)
        for gpus in (1, 2, 3, 4)
        for precision in ("FP64", "FP32", "TF32", "BF16", "FP16")
        for pinned in (False, True)
    ]
    return make_input(
        valid_run(workload, gpus, repetition=number, seconds=(4000 + number) / gpus)
        for workload, gpus in points[: runs // 5]
        for number in range(1, 6)
    )
