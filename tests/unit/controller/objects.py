"""What the API server holds of one benchmark with one run."""

from __future__ import annotations

from typing import Any

from gpubench.controller.cache import BenchmarkCache
from gpubench.sweep.expansion import expand
from tests.unit.backends.objects import LABELS, job, pod
from tests.unit.backends.requests import benchmark

BENCHMARK = benchmark()
(RUN,) = expand(BENCHMARK).runs
OWN_LABELS = LABELS | {"gpubench.io/run": RUN.name}


def versioned(item: dict[str, Any], version: int, **metadata: Any) -> dict[str, Any]:
    """Return an object of the one run as of a version."""
    extra = {"resourceVersion": str(version), "labels": OWN_LABELS, **metadata}
    return {**item, "metadata": {**item["metadata"], **extra}}


def body(version: int = 1, generation: int = 1, **metadata: Any) -> dict[str, Any]:
    """Return the benchmark."""
    known = {"name": "demo", "namespace": "lab", "uid": "uid-benchmark", "generation": generation}
    spec = BENCHMARK.spec.to_json_dict()
    metadata = {**known, "resourceVersion": str(version), **metadata}
    return {"kind": "GPUBenchmark", "metadata": metadata, "spec": spec}


def run(
    status: dict[str, Any] | None = None, *, version: int = 1, uid: str = "uid-run"
) -> dict[str, Any]:
    """Return the run."""
    workload = RUN.point.workload.to_json_dict()
    return {
        "kind": "GPUBenchmarkRun",
        "metadata": {
            "name": RUN.name,
            "namespace": "lab",
            "uid": uid,
            "labels": OWN_LABELS,
            "resourceVersion": str(version),
        },
        "spec": {
            "benchmark": "demo",
            "pointHash": RUN.point.point_hash,
            "parameters": {"workload": workload, "gpus": 2},
            "repetition": 1,
        },
        "status": status or {},
    }


def cache_of(*items: dict[str, Any], own: dict[str, Any] | None = None) -> BenchmarkCache:
    """Return a cache that was told of objects."""
    cache = BenchmarkCache()
    cache.set_body(own or body())
    for item in items:
        cache.put(item)
    cache.wake.clear()
    cache.changed.clear()
    return cache


def own_job(conditions: dict[str, str] | None = None, *, version: int = 2, **extra: Any) -> Any:
    """Return the job of the run's first attempt."""
    return versioned(job(conditions, **extra), version)


def own_pod(container: dict[str, Any] | None = None, *, version: int = 3, **extra: Any) -> Any:
    """Return the pod of the run's first attempt."""
    return versioned(pod(container, **extra), version)
