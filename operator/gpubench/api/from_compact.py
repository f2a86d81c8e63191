"""What a run's status tells of its attempts, as the results that they are in short.

A status holds the numbers, not the whole: no phases of a step, no count of the work, no versions,
only those gates that did not pass. What it lacks is left out here, never guessed.
"""

from __future__ import annotations

from gpubench.api.compact import CompactProfile, CompactResult, CompactTelemetry
from gpubench.api.enums import (
    AttemptState,
    DeviceKind,
    GateName,
    Outcome,
    Strategy,
)
from gpubench.api.result import (
    Device,
    DeviceTelemetry,
    Distribution,
    Efficiency,
    Failure,
    FamilyStatistics,
    Gate,
    Parameters,
    Profile,
    ProfileWindow,
    Provenance,
    Quality,
    RankMemory,
    RunResult,
    Telemetry,
    Throughput,
    Timing,
    Validity,
)
from gpubench.api.run import Attempt, GPUBenchmarkRun, RunParameters
from gpubench.api.run_spec import RunIdentity
from gpubench.api.run_telemetry import GpuTelemetry

ALL_GPUS = "all"
"""Stands for the UUID where numbers are of all GPUs together."""
UNKNOWN_DETAILS = "the whole result in the results folder says more"


def attempt_result(run: GPUBenchmarkRun, attempt: Attempt) -> RunResult | None:
    """Return what the run's status tells of one of its attempts; None if that is no outcome.

    Numbers are there of the attempt that the status has the compact result of; of another one
    that failed, the failure.
    """
    status = run.status
    assert status is not None
    compact = status.result
    if compact is not None and compact.attempt == attempt.number:
        return _with_numbers(run, attempt, compact)
    if attempt.state is not AttemptState.FAILED or attempt.failure is None:
        return None
    return RunResult(
        identity=_identity(run, attempt),
        parameters=_parameters(run.spec.parameters),
        outcome=Outcome.FAILED,
        failure=_failure(attempt, None),
        provenance=_provenance(attempt),
    )


def _with_numbers(run: GPUBenchmarkRun, attempt: Attempt, compact: CompactResult) -> RunResult:
    parameters = run.spec.parameters
    device = compact.device
    return RunResult(
        identity=_identity(run, attempt),
        parameters=_parameters(parameters),
        outcome=compact.outcome,
        failure=_failure(attempt, compact),
        validity=_validity(run, compact),
        device=Device(kind=device.kind, name=device.name, count=device.count) if device else None,
        timing=_timing(compact),
        throughput=_throughput(compact),
        quality=_quality(compact),
        memory=_memory(compact),
        efficiency=_efficiency(compact),
        telemetry=_telemetry(run, compact),
        profile=_profile(compact.profile, _ranks(parameters)),
        provenance=_provenance(attempt),
        digest=compact.digest,
    )


def _identity(run: GPUBenchmarkRun, attempt: Attempt) -> RunIdentity:
    return RunIdentity(
        benchmark=run.spec.benchmark,
        run=run.name,
        point_hash=run.spec.point_hash,
        repetition=run.spec.repetition,
        attempt=attempt.number,
    )


def _parameters(parameters: RunParameters) -> Parameters:
    return Parameters(workload=parameters.workload, gpus=parameters.gpus)


def _ranks(parameters: RunParameters) -> int:
    image_recognition = parameters.workload.image_recognition
    in_one_process = (
        image_recognition is not None and image_recognition.strategy is Strategy.DATA_PARALLEL
    )
    return 1 if in_one_process else parameters.gpus


def _provenance(attempt: Attempt) -> Provenance:
    """Return when the attempt was; an attempt whose pod never started began when it ended."""
    finished_at = attempt.completion_time or attempt.start_time or ""
    return Provenance(started_at=attempt.start_time or finished_at, finished_at=finished_at)


def _failure(attempt: Attempt, compact: CompactResult | None) -> Failure | None:
    """Return why the attempt failed; the status's own word is the longer one."""
    told = compact.failure if compact else None
    failure = attempt.failure or told
    if failure is None:
        return None
    return Failure(
        failure_class=failure.failure_class,
        message=failure.message,
        exit_code=told.exit_code if told else None,
    )


def _validity(run: GPUBenchmarkRun, compact: CompactResult) -> Validity | None:
    """Return the judgement of the status, which knows the present acceptance rules.

    Until there is one, the pod's own judgement stands.
    """
    judged = run.status.validity
    if judged is not None:
        return Validity(
            status=judged.status,
            gates=[_failed_gate(gate.name, gate.message) for gate in judged.failed_gates],
        )
    if compact.validity is None:
        return None
    return Validity(
        status=compact.validity,
        gates=[
            _failed_gate(name, compact.profile_problem if name is GateName.PROFILE else None)
            for name in compact.failed_gates
        ],
    )


def _failed_gate(name: GateName, message: str | None = None) -> Gate:
    return Gate(name=name, passed=False, message=message or UNKNOWN_DETAILS)


def _timing(compact: CompactResult) -> Timing | None:
    if (
        compact.setup_seconds is None
        or compact.training_seconds is None
        or compact.evaluation_seconds is None
        or compact.total_seconds is None
        or compact.steps is None
    ):
        return None
    iteration = compact.iteration
    return Timing(
        setup_seconds=compact.setup_seconds,
        training_seconds=compact.training_seconds,
        evaluation_seconds=compact.evaluation_seconds,
        total_seconds=compact.total_seconds,
        steps=compact.steps,
        iteration=Distribution(**iteration.model_dump()) if iteration else None,
    )


def _throughput(compact: CompactResult) -> Throughput | None:
    if compact.samples_per_second is None or compact.dataset_samples_per_second is None:
        return None
    return Throughput(
        samples_per_second=compact.samples_per_second,
        dataset_samples_per_second=compact.dataset_samples_per_second,
        tokens_per_second=compact.tokens_per_second,
    )


def _quality(compact: CompactResult) -> Quality | None:
    if compact.accuracy is None and compact.final_loss is None:
        return None
    return Quality(accuracy=compact.accuracy, final_loss=compact.final_loss)


def _memory(compact: CompactResult) -> list[RankMemory]:
    on_gpu = compact.device is not None and compact.device.kind is DeviceKind.CUDA
    field = "allocated_bytes" if on_gpu else "resident_bytes"
    return [
        RankMemory.model_validate({"rank": rank, field: peak})
        for rank, peak in enumerate(compact.peak_memory_bytes)
        if peak
    ]


def _efficiency(compact: CompactResult) -> Efficiency | None:
    if compact.flops_per_second is None or not compact.samples_per_second:
        return None
    return Efficiency(
        flops_per_sample=compact.flops_per_second / compact.samples_per_second,
        flops_per_second=compact.flops_per_second,
        mfu=compact.mfu,
    )


def _telemetry(run: GPUBenchmarkRun, compact: CompactResult) -> Telemetry | None:
    """Return what the pod saw by NVML; what DCGM saw where the pod saw nothing."""
    if compact.device is not None and compact.telemetry is not None:
        return _of_nvml(compact.telemetry, compact.device.count)
    assert run.status is not None
    dcgm = run.status.telemetry
    if dcgm is None or dcgm.attempt != compact.attempt or not dcgm.gpus:
        return None
    return Telemetry(source=dcgm.source, devices=[_of_dcgm(gpu) for gpu in dcgm.gpus])


def _of_nvml(compact: CompactTelemetry, gpus: int) -> Telemetry:
    """Return one entry for all GPUs together; its power, too, is that of all."""
    power = compact.power_watts
    together = DeviceTelemetry(
        uuid=ALL_GPUS,
        utilization_mean=compact.utilization,
        sm_active_mean=compact.sm_active,
        memory_used_peak_bytes=compact.memory_used_bytes,
        power_mean_watts=None if power is None else power * gpus,
        energy_joules=compact.energy_joules,
        temperature_max_celsius=compact.temperature_celsius,
        sm_clock_mean_mhz=compact.sm_clock_mhz,
        nvlink_bytes=compact.nvlink_bytes,
    )
    return Telemetry(devices=[together])


def _of_dcgm(gpu: GpuTelemetry) -> DeviceTelemetry:
    """Return a GPU's entry; two instances of one GPU stay two."""
    nvlink = [n for n in (gpu.nvlink_receive_bytes, gpu.nvlink_transmit_bytes) if n is not None]
    return DeviceTelemetry(
        uuid=f"{gpu.uuid}/{gpu.instance}" if gpu.instance else gpu.uuid,
        samples=gpu.samples,
        expected_samples=gpu.expected_samples,
        utilization_mean=gpu.utilization,
        sm_active_mean=gpu.sm_active,
        memory_used_peak_bytes=gpu.memory_used_bytes,
        power_mean_watts=gpu.power_watts,
        energy_joules=gpu.energy_joules,
        temperature_max_celsius=gpu.temperature_celsius,
        sm_clock_mean_mhz=gpu.sm_clock_mhz,
        throttle_reasons=gpu.throttle_reasons,
        pcie_receive_bytes=gpu.pcie_receive_bytes,
        pcie_transmit_bytes=gpu.pcie_transmit_bytes,
        nvlink_bytes=sum(nvlink) if nvlink else None,
    )


def _profile(compact: CompactProfile | None, ranks: int) -> Profile | None:
    if compact is None:
        return None
    whole = compact.window_seconds * ranks
    return Profile(
        source=compact.source,
        window=ProfileWindow(seconds=compact.window_seconds),
        overhead=compact.overhead,
        idle_share=compact.idle_share,
        families={
            family: FamilyStatistics(
                calls=numbers.calls,
                total_seconds=numbers.seconds,
                share=numbers.seconds / whole if whole else 0.0,
            )
            for family, numbers in compact.families.items()
        },
    )
