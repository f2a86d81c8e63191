"""The checks that make a result valid. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpubench.api.enums import GateName
from gpubench.api.gates import acceptance_gate, metric_value
from gpubench.api.result import Gate, Quality, RunResult, Telemetry, Timing, Validity, Work
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.reporting.rank_report import RankReport

MIN_STEADY_STEPS = 10
"""Fewer steady steps than this give a mean and percentiles that mean little."""
HELD_DOWN = frozenset(
    {"HwSlowdown", "HwThermalSlowdown", "HwPowerBrakeSlowdown", "SwThermalSlowdown"}
)
"""Throttle reasons that spoil a measurement. SwPowerCap is not among them: a busy GPU at its power
limit is at its normal working point; it is told in the telemetry."""


def judge(
    result: RunResult,
    spec: RunSpec,
    reports: Sequence[RankReport],
    profile: Gate | None = None,
) -> RunResult:
    """Return the result with its validity: every gate that applies, each with what it saw.

    `profile` is the gate of its profile, if one was asked for.
    """
    assert result.timing is not None
    assert result.work is not None
    gates = [
        steady_steps_gate(result.timing),
        loss_gate(result.quality),
        work_gate(result.work, spec, reports),
    ]
    if result.telemetry is not None:
        gates += [clocks_gate(result.telemetry), exclusive_device_gate(result.telemetry)]
    if profile is not None:
        gates.append(profile)
    gates += [acceptance_gate(metric_value(result, rule.metric), rule) for rule in spec.acceptance]
    return result.model_copy(update={"validity": Validity.from_gates(gates)})


def steady_steps_gate(timing: Timing) -> Gate:
    """Enough steps for a steady-state mean."""
    steady = (timing.iteration.count if timing.iteration else None) or 0
    return Gate(
        name=GateName.STEADY_STEPS,
        passed=steady >= MIN_STEADY_STEPS,
        message=f"{steady} steady steps of {timing.steps}, at least {MIN_STEADY_STEPS} needed; "
        "more come with more epochs or images, or fewer warmupSteps",
    )


def loss_gate(quality: Quality | None) -> Gate:
    """The training loss is a number."""
    losses = quality.epoch_losses if quality else []
    passed = bool(losses) and all(math.isfinite(loss) for loss in losses)
    found = ", ".join(f"{loss:.4g}" for loss in losses[-3:]) or "missing"
    return Gate(name=GateName.LOSS_FINITE, passed=passed, message=f"last epoch losses: {found}")


def work_gate(work: Work, spec: RunSpec, reports: Sequence[RankReport]) -> Gate:
    """Every rank did all epochs, in the same number of steps, and trained on something."""
    steps = {report.steps for report in reports}
    epochs = {report.epochs for report in reports}
    asked = spec.workload.parameters.epochs
    tuning = spec.workload.llm_tuning
    complete = epochs == {asked} or (tuning is not None and steps == {tuning.max_steps})
    passed = complete and len(steps) == 1 and all(work.samples_trained)
    return Gate(
        name=GateName.WORK_DONE,
        passed=passed,
        message=f"epochs {sorted(epochs)} of {asked}, steps {sorted(steps)}, "
        f"samples trained per rank {work.samples_trained}",
    )


def clocks_gate(telemetry: Telemetry) -> Gate:
    """No GPU's clocks were held down by heat or power supply."""
    held = {
        device.uuid: sorted(HELD_DOWN.intersection(device.throttle_reasons))
        for device in telemetry.devices
    }
    throttled = {uuid: reasons for uuid, reasons in held.items() if reasons}
    found = "; ".join(f"{uuid}: {', '.join(reasons)}" for uuid, reasons in throttled.items())
    return Gate(
        name=GateName.CLOCKS, passed=not throttled, message=found or "clocks were not held down"
    )


def exclusive_device_gate(telemetry: Telemetry) -> Gate:
    """No GPU was used by a process of others."""
    shared = {d.uuid: d.foreign_processes for d in telemetry.devices if d.foreign_processes}
    found = "; ".join(f"{uuid}: processes {pids}" for uuid, pids in shared.items())
    return Gate(
        name=GateName.EXCLUSIVE_DEVICE,
        passed=not shared,
        message=found or "no foreign process on the GPUs",
    )
