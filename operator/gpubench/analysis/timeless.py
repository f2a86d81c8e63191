"""The parts of a report that do not depend on time.

Two executions of a deterministic benchmark, one of them killed and resumed, agree in these and in
nothing else: times differ by nature, and so does the number of attempts.
"""

from __future__ import annotations

from typing import Any

from gpubench.analysis.inputs import ReportInput, ReportRun, Verdict
from gpubench.analysis.parameters import flat_parameters
from gpubench.api.result import RunResult


def timeless_view(report_input: ReportInput) -> dict[str, Any]:
    """Return states, validity, counts and quality of all runs as plain JSON values, by run name."""
    verdicts = [run.verdict for run in report_input.runs]
    return {
        "benchmark": report_input.benchmark.name,
        "tally": {verdict.value: verdicts.count(verdict) for verdict in Verdict},
        "runs": {run.name: _timeless_run(run) for run in sorted_by_name(report_input)},
    }


def sorted_by_name(report_input: ReportInput) -> list[ReportRun]:
    """Return the runs in an order that does not depend on when they ran."""
    return sorted(report_input.runs, key=lambda run: run.name)


def _timeless_run(run: ReportRun) -> dict[str, Any]:
    return {
        "pointHash": run.point_hash,
        "repetition": run.repetition,
        "parameters": flat_parameters(run.workload, run.gpus),
        "state": run.state.value,
        "verdict": run.verdict.value,
        "failureClass": run.failure.failure_class.value if run.failure else None,
        "result": _timeless_result(run.result) if run.result else None,
    }


def _timeless_result(result: RunResult) -> dict[str, Any]:
    gates = result.validity.gates if result.validity else []
    quality = result.quality
    return {
        "device": [result.device.kind.value, result.device.name] if result.device else None,
        "gates": sorted([gate.name.value, gate.passed] for gate in gates),
        "steps": result.timing.steps if result.timing else None,
        "work": result.work.to_json_dict() if result.work else None,
        "accuracy": quality.accuracy if quality else None,
        "epochAccuracies": list(quality.epoch_accuracies) if quality else None,
        "testSamples": quality.test_samples if quality else None,
        "datasetFingerprint": dict(result.provenance.dataset),
    }
