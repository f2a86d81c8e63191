"""Benchmarks and runs as an API server holds them, made through the real models."""

from __future__ import annotations

from typing import Any

from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.compact import compact_result
from gpubench.api.enums import DeviceKind
from gpubench.api.result import RunResult
from gpubench.api.run import GPUBenchmarkRun
from gpubench.api.run_spec import RunIdentity, RunSpec
from gpubench.sweep.expansion import expand
from gpubench.sweep.plan import Run

DIGEST = "ab" * 32
STARTED, ENDED = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
METADATA = {
    "name": "demo",
    "namespace": "team",
    "uid": "0123",
    "generation": 2,
    "creationTimestamp": "2026-01-01T00:00:00Z",
}


def benchmark(status: dict[str, Any] | None = None, **spec: Any) -> GPUBenchmark:
    """Return a benchmark of two runs, one on one GPU and one on two."""
    workload = {"imageRecognition": {"dataset": {"name": "digits"}, "imageSize": 32}}
    whole = {"workload": workload, "sweep": {"matrix": {"gpus": [1, 2]}}} | spec
    return GPUBenchmark.model_validate({"metadata": METADATA, "spec": whole, "status": status})


def planned(number: int = 0) -> Run:
    """Return a run of the benchmark's plan."""
    return expand(benchmark()).runs[number]


def spec_of(run: Run, attempt: int = 1) -> RunSpec:
    """Return what the pod of an attempt is given."""
    identity = RunIdentity(
        benchmark="demo",
        run=run.name,
        point_hash=run.point.point_hash,
        repetition=run.repetition,
        attempt=attempt,
    )
    workload, gpus = run.point.workload, run.point.gpus
    return RunSpec(identity=identity, workload=workload, gpus=gpus, device=DeviceKind.CPU)


def run_object(run: Run, **status: Any) -> GPUBenchmarkRun:
    """Return the object of a run with this status."""
    return GPUBenchmarkRun.model_validate(
        {
            "metadata": {"name": run.name, "namespace": "team"},
            "spec": {
                "benchmark": "demo",
                "pointHash": run.point.point_hash,
                "repetition": run.repetition,
                "parameters": {
                    "workload": run.point.workload.to_json_dict(),
                    "gpus": run.point.gpus,
                },
            },
            "status": status,
        }
    )


def attempt(number: int, state: str, **fields: Any) -> dict[str, Any]:
    """Return an attempt as a status lists it."""
    times = {} if state == "Pending" else {"startTime": STARTED}
    if state in ("Succeeded", "Failed"):
        times["completionTime"] = ENDED
    return {"number": number, "state": state, "jobName": f"job-{number}", **times, **fields}


def failure(message: str = "node n1 is gone", failure_class: str = "NodeLost") -> dict[str, Any]:
    """Return why an attempt failed."""
    return {"failureClass": failure_class, "message": message}


def compact(result: RunResult) -> dict[str, Any]:
    """Return a result as a pod hands it to the API server."""
    return compact_result(result, DIGEST).to_json_dict()
