"""The benchmarks that are applied, and runs that were finished before."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.enums import AttemptState, DeviceKind, ValidityStatus
from gpubench.api.run_spec import RunIdentity, RunSpec
from gpubench.controller.cache import BenchmarkCache
from gpubench.controller.children import Children
from gpubench.controller.client import KubernetesClient
from gpubench.lifecycle import ObservedAttempt, ObservedRun, Policy, make_run_status
from gpubench.sweep.expansion import expand
from gpubench.sweep.plan import Run
from tests.bench.operator_scale.api import BENCHMARKS, MERGE, NAMESPACE, NODES, RUNS, Api, Object
from tests.bench.operator_scale.executor import NODE, result_of

AT_ONCE = 48
RUN_SECONDS = 60.0
IMAGE = "bench"


def make_benchmark(
    name: str, matrix: dict[str, list[int]], *, parallelism: int, cleanup: str = "OnSuccess"
) -> Object:
    """Return a sweep of one-GPU runs that may share a node."""
    return {
        "apiVersion": "gpubench.io/v1alpha1",
        "kind": "GPUBenchmark",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "workload": {"imageRecognition": {"dataset": {"name": "digits"}, "imageSize": 32}},
            "sweep": {"matrix": matrix},
            "execution": {
                "image": IMAGE,
                "isolation": "Shared",
                "parallelism": parallelism,
                "cleanup": cleanup,
            },
        },
    }


async def make_node(api: Api, gpus: int) -> None:
    """Make a node that is ready and has many GPUs."""
    await api.request("POST", NODES, {"metadata": {"name": NODE}})
    quantities = {"nvidia.com/gpu": str(gpus), "cpu": str(8 * gpus), "pods": str(2 * gpus)}
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "",
        "lastHeartbeatTime": "2026-01-01T00:00:00Z",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {"capacity": quantities, "allocatable": quantities, "conditions": [ready]}
    await api.request("PATCH", f"{NODES}/{NODE}/status", {"status": status}, MERGE)
    # The API server taints new nodes until a controller, which is not here, takes that away.
    await api.request("PATCH", f"{NODES}/{NODE}", {"spec": {"taints": None}}, MERGE)


async def make_finished_runs(api: Api, manifest: dict[str, Any]) -> int:
    """Apply a benchmark together with all its runs, each finished with a result."""
    body = await api.request("POST", BENCHMARKS, manifest)
    benchmark = GPUBenchmark.model_validate(
        {"metadata": manifest["metadata"], "spec": body["spec"]}
    )
    client = cast("KubernetesClient", None)  # nobody is asked
    children = Children(
        BenchmarkCache(), client, NAMESPACE, benchmark.name, body["metadata"]["uid"]
    )
    policy = Policy.from_spec(benchmark.spec)
    slots = asyncio.Semaphore(AT_ONCE)

    async def make(run: Run) -> None:
        async with slots:
            await api.request("POST", RUNS, children._run_manifest(run, IMAGE))
            status = _finished_status(benchmark.name, run, policy)
            await api.request("PATCH", f"{RUNS}/{run.name}/status", {"status": status}, MERGE)

    runs = expand(benchmark).runs
    await asyncio.gather(*(make(run) for run in runs))
    return len(runs)


def _finished_status(benchmark: str, run: Run, policy: Policy) -> Object:
    identity = RunIdentity(
        benchmark=benchmark,
        run=run.name,
        point_hash=run.point.point_hash,
        repetition=run.repetition,
        attempt=1,
    )
    spec = RunSpec(
        identity=identity,
        workload=run.point.workload,
        gpus=run.point.gpus,
        device=DeviceKind.CUDA,
    )
    result = result_of(spec)
    start = 1_767_225_600.0
    attempt = ObservedAttempt(
        number=1,
        state=AttemptState.SUCCEEDED,
        started_at=start,
        ended_at=start + RUN_SECONDS,
        validity=ValidityStatus.VALID,
        throughput=result.samples_per_second,
    )
    observed = ObservedRun(run.name, run.point.point_hash, run.point.gpus, (attempt,))
    status = make_run_status(observed, policy, result, [], [], start + RUN_SECONDS)
    return status.to_json_dict()
