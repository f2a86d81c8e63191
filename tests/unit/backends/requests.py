"""Job requests as the controller makes them."""

from __future__ import annotations

from typing import Any

from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.enums import WorkloadKind
from gpubench.backends import JobRequest, PodSettings
from gpubench.controller.run_specs import JobRequestBuilder
from gpubench.sweep.expansion import expand

SETTINGS = PodSettings(
    images={WorkloadKind.IMAGE_RECOGNITION: "example/image:1", WorkloadKind.LLM_TUNING: ""}
)
EVERYTHING: dict[str, Any] = {
    "image": "example/mine:2",
    "imagePullPolicy": "Never",
    "imagePullSecrets": ["mine"],
    "dataVolumeClaim": "datasets",
    "placement": {
        "nodeSelector": {"gpu": "h100"},
        "tolerations": [{"key": "team", "operator": "Equal", "value": "a", "effect": "NoSchedule"}],
    },
    "resources": {"cpu": "6", "memory": "20Gi", "sharedMemory": "2Gi"},
    "priorityClassName": "low",
    "queueName": "research",
}
"""Every field of `execution` that shapes a pod."""


def benchmark(
    execution: dict[str, Any] | None = None,
    *,
    name: str = "demo",
    gpus: int = 2,
    results: dict[str, Any] | None = None,
    **spec: Any,
) -> GPUBenchmark:
    """Return a benchmark of one point."""
    workload = {"imageRecognition": {"dataset": {"name": "digits"}, "imageSize": 32}}
    return GPUBenchmark.model_validate(
        {
            "metadata": {"name": name, "namespace": "lab"},
            "spec": {
                "workload": workload,
                "gpus": gpus,
                "execution": execution or {},
                "results": results or {},
                **spec,
            },
        }
    )


def request_for(
    benchmark: GPUBenchmark, settings: PodSettings = SETTINGS, *, attempt: int = 1
) -> JobRequest:
    """Return the request for an attempt at the first run of a benchmark."""
    plan = expand(benchmark)
    builder = JobRequestBuilder.for_plan(benchmark, "uid-benchmark", plan, settings)
    return builder.build(plan.runs[0], "uid-run", attempt)
