"""A benchmark as the API server holds it -> what is to be run, or why nothing is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from gpubench.api.benchmark import GPUBenchmark, GPUBenchmarkStatus
from gpubench.api.enums import DeviceKind
from gpubench.api.errors import SpecError
from gpubench.api.problems import describe_validation_error
from gpubench.api.schema import structural_schema
from gpubench.controller.admission import find_refusal
from gpubench.controller.capacity import CPU, Demand
from gpubench.controller.run_specs import JobRequestBuilder
from gpubench.controller.settings import OperatorSettings
from gpubench.lifecycle import Policy
from gpubench.sweep.expansion import expand
from gpubench.sweep.plan import Plan, Run


@dataclass(frozen=True)
class Assignment:
    """What a benchmark's present spec asks for."""

    generation: int
    benchmark: GPUBenchmark
    plan: Plan
    runs: Mapping[str, Run]
    policy: Policy
    requests: JobRequestBuilder
    demand: Demand


@dataclass(frozen=True)
class Rejection:
    """Why nothing of a benchmark is run."""

    generation: int
    reason: str
    message: str


def read_assignment(body: Mapping[str, Any], settings: OperatorSettings) -> Assignment | Rejection:
    """Expand a benchmark, or tell in one message why that cannot be run here."""
    metadata = body["metadata"]
    generation = metadata["generation"]
    try:
        benchmark = _parse(body)
        plan = expand(benchmark)
    except ValidationError as error:
        problems = describe_validation_error(error, structural_schema(GPUBenchmark))
        return Rejection(generation, "InvalidSpec", "; ".join(str(p) for p in problems))
    except SpecError as error:
        return Rejection(generation, "InvalidSweep", str(error).replace("\n", "; "))
    refusal = find_refusal(benchmark.spec, settings)
    if refusal is not None:
        return Rejection(generation, refusal.reason, refusal.message)
    execution = benchmark.spec.execution
    on_cpu = execution.device is DeviceKind.CPU
    return Assignment(
        generation=generation,
        benchmark=benchmark,
        plan=plan,
        runs={run.name: run for run in plan.runs},
        policy=Policy.from_spec(benchmark.spec, settings.start_timeout_seconds),
        requests=JobRequestBuilder.for_plan(benchmark, metadata["uid"], plan, settings.pods),
        demand=Demand(
            resource=CPU if on_cpu else settings.gpu_resource,
            isolation=execution.isolation,
            node_selector=execution.placement.node_selector,
        ),
    )


def _parse(body: Mapping[str, Any]) -> GPUBenchmark:
    metadata = {name: body["metadata"][name] for name in ("name", "namespace")}
    content = {"metadata": metadata, "spec": body["spec"]}
    return GPUBenchmark.model_validate(content)


def read_status(body: Mapping[str, Any]) -> GPUBenchmarkStatus:
    """Return the status that was written last; one that a hand has broken counts as none."""
    try:
        return GPUBenchmarkStatus.model_validate(body.get("status") or {})
    except ValidationError:
        return GPUBenchmarkStatus()
