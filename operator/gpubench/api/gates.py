"""Acceptance rules as gates, the same wherever a result is judged."""

from __future__ import annotations

from gpubench.api.compact import CompactResult
from gpubench.api.enums import AcceptanceMetric, GateName, ValidityStatus
from gpubench.api.execution import AcceptanceRule
from gpubench.api.result import Gate, RunResult, Validity
from gpubench.api.run import FailedGate, RunValidity
from gpubench.api.run_telemetry import RunTelemetry


def metric_value(result: RunResult, metric: AcceptanceMetric) -> float | None:
    """Return the value that a rule looks at, None where the result has none."""
    match metric:
        case AcceptanceMetric.ACCURACY:
            return result.quality.accuracy if result.quality else None
        case AcceptanceMetric.FINAL_LOSS:
            return result.quality.final_loss if result.quality else None
        case AcceptanceMetric.THROUGHPUT:
            return result.throughput.samples_per_second if result.throughput else None
        case AcceptanceMetric.ITERATION_SECONDS:
            iteration = result.timing.iteration if result.timing else None
            return iteration.mean if iteration else None


def compact_metric_value(result: CompactResult, metric: AcceptanceMetric) -> float | None:
    """Return the value that a rule looks at, None where the result has none."""
    match metric:
        case AcceptanceMetric.ACCURACY:
            return result.accuracy
        case AcceptanceMetric.FINAL_LOSS:
            return result.final_loss
        case AcceptanceMetric.THROUGHPUT:
            return result.samples_per_second
        case AcceptanceMetric.ITERATION_SECONDS:
            return result.iteration.mean if result.iteration else None


def acceptance_gate(value: float | None, rule: AcceptanceRule) -> Gate:
    """Judge the value that a rule looks at; one that is missing does not pass."""
    bounds = [
        f"{word} {bound}"
        for word, bound in (("at least", rule.at_least), ("at most", rule.at_most))
        if bound is not None
    ]
    passed = (
        value is not None
        and (rule.at_least is None or value >= float(rule.at_least))
        and (rule.at_most is None or value <= float(rule.at_most))
    )
    found = "missing" if value is None else f"{value:.6g}"
    message = f"{rule.metric} is {found}, asked for {' and '.join(bounds)}"
    return Gate(name=GateName.ACCEPTANCE, passed=passed, message=message)


def with_acceptance(result: RunResult, rules: list[AcceptanceRule]) -> RunResult:
    """Return the result judged by these rules instead of those it was made under.

    So a bound that is changed later applies to results that exist already, and none is run again.
    """
    if result.validity is None:
        return result
    kept = [gate for gate in result.validity.gates if gate.name is not GateName.ACCEPTANCE]
    gates = kept + [acceptance_gate(metric_value(result, rule.metric), rule) for rule in rules]
    return result.model_copy(update={"validity": Validity.from_gates(gates)})


def xid_gate(telemetry: RunTelemetry) -> Gate:
    """The driver reported no XID error on the run's GPUs."""
    found = ", ".join(str(code) for code in telemetry.xid_errors)
    return Gate(
        name=GateName.XID,
        passed=not found,
        message=f"XID errors during the attempt: {found or 'none'}",
    )


def compact_validity(
    result: CompactResult, rules: list[AcceptanceRule], telemetry: RunTelemetry | None = None
) -> RunValidity | None:
    """Judge what a pod handed over by these rules and by what DCGM saw of that attempt.

    None for an attempt that failed.
    """
    if result.validity is None:
        return None
    failed = [
        FailedGate(name=g, message=result.profile_problem if g is GateName.PROFILE else None)
        for g in result.failed_gates
        if g is not GateName.ACCEPTANCE
    ]
    gates = [acceptance_gate(compact_metric_value(result, r.metric), r) for r in rules]
    if telemetry is not None and telemetry.attempt == result.attempt:
        gates.append(xid_gate(telemetry))
    failed += [FailedGate(name=g.name, message=g.message) for g in gates if not g.passed]
    spoiling = [gate for gate in failed if gate.name is not GateName.PROFILE]
    status = ValidityStatus.INVALID if spoiling else ValidityStatus.VALID
    return RunValidity(status=status, failed_gates=failed)
