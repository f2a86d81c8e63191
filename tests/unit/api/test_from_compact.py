"""A result that was read from a status says what the whole one says, or nothing."""

from __future__ import annotations

import pytest

from gpubench.analysis.metrics import (
    ACCURACY,
    ARITHMETIC_RATE,
    DEVICE_MEMORY,
    ENERGY,
    EVALUATION,
    FINAL_LOSS,
    ITERATION,
    ITERATION_P95,
    ITERATION_STD,
    MAIN_MEMORY,
    MFU,
    POWER,
    PROGRESS_RATE,
    SETUP,
    THROUGHPUT,
    TOKEN_RATE,
    TOTAL_TIME,
    UTILIZATION,
    Metric,
)
from gpubench.api.enums import DeviceKind, Family, GateName, Outcome, Strategy
from gpubench.api.from_compact import attempt_result
from gpubench.api.result import (
    Device,
    DeviceTelemetry,
    Efficiency,
    FamilyStatistics,
    Profile,
    ProfileWindow,
    RankMemory,
    RunResult,
    Telemetry,
)
from tests.unit.cluster.objects import attempt, compact, failure, planned, run_object, spec_of
from tests.unit.results import failed, succeeded

METRICS = (
    ACCURACY, ARITHMETIC_RATE, ENERGY, EVALUATION, FINAL_LOSS, ITERATION, ITERATION_P95,
    ITERATION_STD, MFU, POWER, PROGRESS_RATE, SETUP, THROUGHPUT, TOKEN_RATE, TOTAL_TIME,
    UTILIZATION, DEVICE_MEMORY,
)  # fmt: skip
RUN = planned(1)


def on_gpus() -> RunResult:
    """A result of two GPUs with everything that a status can tell of it."""
    gpus = [
        DeviceTelemetry(
            uuid=f"GPU-{number}",
            samples=100,
            expected_samples=100,
            utilization_mean=0.9 - number / 10,
            power_mean_watts=300.0 + 100 * number,
            energy_joules=9000.0 + number,
            memory_used_peak_bytes=2**34 + number,
        )
        for number in (0, 1)
    ]
    family = FamilyStatistics(
        calls=1000, total_seconds=3.0, share=0.75, rank_total_seconds=[1.0, 2.0]
    )
    return succeeded(spec_of(RUN)).model_copy(
        update={
            "device": Device(kind=DeviceKind.CUDA, name="H100", count=2),
            "memory": [
                RankMemory(rank=rank, allocated_bytes=2**33 + rank, resident_bytes=2**32)
                for rank in (0, 1)
            ],
            "efficiency": Efficiency(flops_per_sample=6e8, flops_per_second=3.84e11, mfu=0.01),
            "telemetry": Telemetry(source="NVML", devices=gpus),
            "profile": Profile(
                source="Nsys",
                window=ProfileWindow(seconds=2.0),
                families={Family.CUDA_LAUNCH_KERNEL: family},
                overhead=0.03,
                idle_share=0.2,
            ),
        }
    )


def read(result: RunResult, **status: object) -> RunResult:
    """Return a result as the status of its run tells it."""
    number = result.identity.attempt
    state = "Failed" if result.failure else "Succeeded"
    reason = {"failure": failure(result.failure.message, "Crash")} if result.failure else {}
    whole = {"attempts": [attempt(number, state, **reason)], "result": compact(result), **status}
    run = run_object(RUN, **whole)
    assert run.status is not None
    found = attempt_result(run, run.status.attempts[-1])
    assert found is not None
    return found


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
def test_every_metric_of_a_report_is_the_same(metric: Metric) -> None:
    whole = on_gpus()
    expected = metric.read(whole)
    assert metric.read(read(whole)) == (
        None if expected is None else pytest.approx(expected, rel=1e-5)
    )


def of_dcgm(attempt: int = 1) -> dict[str, object]:
    """What a status tells of the GPUs by DCGM."""
    gpus = [
        {
            "uuid": f"GPU-{number}",
            "samples": 60,
            "expectedSamples": 60,
            "utilization": 0.8,
            "powerWatts": 350.0,
            "energyJoules": 21_000.0,
            "nvlinkReceiveBytes": 10,
            "nvlinkTransmitBytes": 5,
        }
        for number in (0, 1)
    ]
    return {"telemetry": {"attempt": attempt, "coverage": 1.0, "gpus": gpus}}


def test_what_dcgm_saw_counts_where_the_pod_saw_nothing() -> None:
    blind = on_gpus().model_copy(update={"telemetry": None})
    found = read(blind, **of_dcgm())
    assert found.telemetry is not None
    assert found.telemetry.source == "DCGM"
    assert [gpu.nvlink_bytes for gpu in found.telemetry.devices] == [15, 15]
    assert (POWER.read(found), ENERGY.read(found)) == (700.0, 42.0)
    assert UTILIZATION.read(found) == pytest.approx(80.0)


def test_what_dcgm_saw_of_another_attempt_does_not_count() -> None:
    blind = on_gpus().model_copy(update={"telemetry": None})
    assert read(blind, **of_dcgm(attempt=2)).telemetry is None


def test_the_pods_own_numbers_come_first() -> None:
    assert ENERGY.read(read(on_gpus(), **of_dcgm())) == ENERGY.read(on_gpus())


def test_memory_on_a_processor_is_main_memory() -> None:
    memory = [RankMemory(rank=rank, resident_bytes=2**30 + rank) for rank in (0, 1)]
    whole = succeeded(spec_of(RUN)).model_copy(update={"memory": memory})
    assert MAIN_MEMORY.read(read(whole)) == MAIN_MEMORY.read(whole)
    assert DEVICE_MEMORY.read(read(whole)) is None


def test_who_and_what_it_is() -> None:
    whole = on_gpus()
    found = read(whole)
    assert found.identity == whole.identity
    assert found.parameters == whole.parameters
    assert found.outcome is Outcome.SUCCEEDED
    assert found.device == whole.device
    assert (found.provenance.started_at, found.provenance.finished_at) == (
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:01:00Z",
    )


def test_shares_of_families_come_from_window_and_ranks() -> None:
    profile = read(on_gpus()).profile
    assert profile is not None
    family = profile.families[Family.CUDA_LAUNCH_KERNEL]
    assert (family.calls, family.total_seconds, family.share) == (1000, 3.0, 0.75)


def test_data_parallel_has_one_rank() -> None:
    workload = RUN.point.workload.parameters.model_copy(update={"strategy": Strategy.DATA_PARALLEL})
    run = run_object(RUN, attempts=[attempt(1, "Succeeded")], result=compact(on_gpus()))
    parameters = run.spec.parameters.model_copy(
        update={"workload": RUN.point.workload.model_copy(update={"image_recognition": workload})}
    )
    run = run.model_copy(update={"spec": run.spec.model_copy(update={"parameters": parameters})})
    assert run.status is not None
    found = attempt_result(run, run.status.attempts[0])
    assert found is not None
    assert found.profile is not None
    assert found.profile.families[Family.CUDA_LAUNCH_KERNEL].share == 1.5


def test_what_a_status_lacks_is_left_out() -> None:
    found = read(on_gpus())
    assert found.work is None
    assert found.timing is not None
    assert found.timing.phases is None
    assert found.timing.warmup_steps is None
    assert found.timing.iteration is not None
    assert found.timing.iteration.minimum is None
    assert (found.provenance.node, found.provenance.gpubench_version) == (None, None)
    assert found.provenance.software == {}


def test_the_present_judgement_stands_for_the_pods() -> None:
    gate = {"name": "Acceptance", "message": "accuracy is 0.97, asked for at least 0.99"}
    found = read(on_gpus(), validity={"status": "Invalid", "failedGates": [gate, gate]})
    assert not found.is_valid
    assert found.validity is not None
    assert [gate.message for gate in found.validity.failed_gates] == [gate["message"]] * 2
    assert read(on_gpus(), validity={"status": "Valid"}).is_valid


def test_a_gate_without_a_message_still_has_one() -> None:
    found = read(on_gpus(), validity={"status": "Invalid", "failedGates": [{"name": "Clocks"}]})
    assert found.validity is not None
    (gate,) = found.validity.failed_gates
    assert gate.name is GateName.CLOCKS
    assert gate.message


def test_a_failed_attempt_keeps_the_longer_message_and_its_exit_code() -> None:
    whole = failed(spec_of(RUN))
    assert whole.failure is not None
    crashed = whole.failure.model_copy(update={"message": "x" * 500, "exit_code": -11})
    found = read(whole.model_copy(update={"failure": crashed}))
    assert found.failure == crashed
    assert found.outcome is Outcome.FAILED


def test_an_attempt_before_the_last_has_its_failure_and_no_numbers() -> None:
    attempts = [attempt(1, "Failed", failure=failure()), attempt(2, "Succeeded")]
    second = on_gpus().model_copy(update={"identity": spec_of(RUN, attempt=2).identity})
    run = run_object(RUN, attempts=attempts, result=compact(second))
    assert run.status is not None
    lost, stood = (attempt_result(run, each) for each in run.status.attempts)
    assert lost is not None
    assert lost.failure is not None
    assert (lost.failure.message, lost.timing) == ("node n1 is gone", None)
    assert stood is not None
    assert stood.timing is not None


@pytest.mark.parametrize("state", ["Pending", "Running"])
def test_an_attempt_that_is_not_over_has_no_result(state: str) -> None:
    run = run_object(RUN, attempts=[attempt(1, state)])
    assert run.status is not None
    assert attempt_result(run, run.status.attempts[0]) is None
