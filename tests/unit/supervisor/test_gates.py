"""What makes a result valid."""

from __future__ import annotations

import pytest

from gpubench.api.enums import GateName, ValidityStatus
from gpubench.api.execution import AcceptanceRule
from gpubench.api.result import DeviceTelemetry, Gate, Quality, RunResult, Telemetry, Timing
from gpubench_workloads.reporting.rank_report import RankReport
from gpubench_workloads.supervisor.gates import MIN_STEADY_STEPS, judge
from tests.unit.results import run_spec, succeeded

SPEC = run_spec()
RESULT = succeeded(SPEC)
REPORTS = [RankReport(rank=rank, steps=24, epochs=2) for rank in range(2)]


def gate(result: RunResult, name: GateName) -> Gate:
    assert result.validity is not None
    return next(gate for gate in result.validity.gates if gate.name is name)


def with_telemetry(**fields: object) -> RunResult:
    device = DeviceTelemetry(uuid="GPU-1", samples=9, expected_samples=9, **fields)  # type: ignore[arg-type]  # the fields are the caller's
    return RESULT.model_copy(update={"telemetry": Telemetry(source="NVML", devices=[device])})


def test_undisturbed_result_is_valid() -> None:
    judged = judge(RESULT, SPEC, REPORTS)
    assert judged.validity is not None
    assert judged.validity.status is ValidityStatus.VALID
    names = {gate.name for gate in judged.validity.gates}
    assert names == {GateName.STEADY_STEPS, GateName.LOSS_FINITE, GateName.WORK_DONE}


@pytest.mark.parametrize(("steady", "passed"), [(MIN_STEADY_STEPS, True), (9, False)])
def test_steady_steps(steady: int, *, passed: bool) -> None:
    assert RESULT.timing is not None
    assert RESULT.timing.iteration is not None
    iteration = RESULT.timing.iteration.model_copy(update={"count": steady})
    timing = RESULT.timing.model_copy(update={"iteration": iteration})
    judged = judge(RESULT.model_copy(update={"timing": timing}), SPEC, REPORTS)
    assert gate(judged, GateName.STEADY_STEPS).passed is passed
    assert judged.is_valid is passed


def test_no_steady_step_at_all_is_invalid() -> None:
    assert isinstance(RESULT.timing, Timing)
    timing = RESULT.timing.model_copy(update={"iteration": None})
    judged = judge(RESULT.model_copy(update={"timing": timing}), SPEC, REPORTS)
    assert not gate(judged, GateName.STEADY_STEPS).passed


@pytest.mark.parametrize("losses", [[], [float("nan")], [1.0, float("inf")]])
def test_loss_must_be_a_number(losses: list[float]) -> None:
    quality = Quality.model_construct(epoch_losses=losses)
    judged = judge(RESULT.model_copy(update={"quality": quality}), SPEC, REPORTS)
    assert not gate(judged, GateName.LOSS_FINITE).passed


@pytest.mark.parametrize(
    ("steps", "epochs"), [((24, 23), (2, 2)), ((24, 24), (2, 1)), ((24, 24), (1, 1))]
)
def test_every_rank_must_have_done_its_work(
    steps: tuple[int, int], epochs: tuple[int, int]
) -> None:
    reports = [RankReport(rank=rank, steps=steps[rank], epochs=epochs[rank]) for rank in range(2)]
    assert not gate(judge(RESULT, SPEC, reports), GateName.WORK_DONE).passed


@pytest.mark.parametrize(
    ("reasons", "passed"),
    [([], True), (["SwPowerCap"], True), (["HwThermalSlowdown"], False), (["HwSlowdown"], False)],
)
def test_clocks_held_down_by_heat_make_it_invalid(reasons: list[str], *, passed: bool) -> None:
    judged = judge(with_telemetry(throttle_reasons=reasons), SPEC, REPORTS)
    assert gate(judged, GateName.CLOCKS).passed is passed


@pytest.mark.parametrize(("processes", "passed"), [([], True), ([4711], False)])
def test_foreign_processes_make_it_invalid(processes: list[int], *, passed: bool) -> None:
    judged = judge(with_telemetry(foreign_processes=processes), SPEC, REPORTS)
    assert gate(judged, GateName.EXCLUSIVE_DEVICE).passed is passed


def test_profile_that_was_asked_for_and_is_missing_leaves_the_result_valid() -> None:
    missing = Gate(name=GateName.PROFILE, passed=False, message="nsys left no report")
    judged = judge(RESULT, SPEC, REPORTS, missing)
    assert gate(judged, GateName.PROFILE) == missing
    assert judged.is_valid


def test_profile_that_is_missing_does_not_hide_what_else_is_wrong() -> None:
    missing = Gate(name=GateName.PROFILE, passed=False, message="nsys left no report")
    diverged = Quality(epoch_losses=[])
    judged = judge(RESULT.model_copy(update={"quality": diverged}), SPEC, REPORTS, missing)
    assert not judged.is_valid


@pytest.mark.parametrize(
    ("rule", "passed"),
    [
        ({"metric": "accuracy", "atLeast": "0.97"}, True),
        ({"metric": "accuracy", "atLeast": "0.971"}, False),
        ({"metric": "iterationSeconds", "atMost": "0.05"}, False),
        ({"metric": "throughput", "atLeast": "600", "atMost": "700"}, True),
        ({"metric": "finalLoss", "atMost": "1e-3"}, False),
    ],
)
def test_acceptance_rules(rule: dict[str, str], *, passed: bool) -> None:
    spec = SPEC.model_copy(update={"acceptance": [AcceptanceRule.model_validate(rule)]})
    judged = judge(RESULT, spec, REPORTS)
    assert gate(judged, GateName.ACCEPTANCE).passed is passed
    assert judged.is_valid is passed
