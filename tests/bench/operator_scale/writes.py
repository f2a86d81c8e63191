"""What is written to the API server, and how much it can take."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from gpubench.controller.client import FIELD_MANAGER
from tests.bench.operator_scale.api import APPLY, JOBS, MERGE, PODS, RUNS, Api, Object
from tests.bench.operator_scale.executor import ended_job_status, ended_pod_status, make_pod

READS = ("GET", "LIST", "WATCH", "WATCHLIST", "CONNECT")
AT_ONCE = 32


async def count_writes(api: Api) -> Counter[str]:
    """Return the writes so far as the API server counts them: `PATCH pods/status`."""
    counts: Counter[str] = Counter()
    metrics = await api.text("/metrics")
    lines = [s for s in metrics.splitlines() if s.startswith("apiserver_request_total{")]
    for family in text_string_to_metric_families("\n".join(lines) + "\n"):
        for sample in family.samples:
            labels = sample.labels
            if labels["verb"] in READS or not labels["code"].startswith("2"):
                continue
            what = "/".join(part for part in (labels["resource"], labels["subresource"]) if part)
            counts[f"{labels['verb']} {what}"] += int(sample.value)
    return counts


@dataclass(frozen=True)
class Attempt:
    """The objects of one attempt, as a real one left them, under names of their own."""

    run: Object
    job: Object

    @classmethod
    def like(cls, run: Object, job: Object, number: int) -> Attempt:
        """Return a copy that neither the operator nor the executor looks at."""
        return cls(_copy(run, f"yardstick-{number}"), _copy(job, f"yardstick-{number}"))


def _copy(item: Object, name: str) -> Object:
    labels = item["metadata"]["labels"] | {"app.kubernetes.io/managed-by": "yardstick"}
    metadata = {"name": name, "namespace": item["metadata"]["namespace"], "labels": labels}
    return {**item, "metadata": metadata}


async def measure_ceiling(api: Api, run: Object, job: Object, attempts: int) -> float:
    """Return how many writes a second the API server takes of what attempts are made of.

    The same objects and verbs as a sweep's, from the leanest client, with nobody watching.
    """
    slots = asyncio.Semaphore(AT_ONCE)

    async def write(number: int) -> int:
        async with slots:
            return await _write(api, Attempt.like(run, job, number))

    started = time.monotonic()
    writes = await asyncio.gather(*(write(number) for number in range(attempts)))
    seconds = time.monotonic() - started
    await asyncio.gather(*(_delete(api, f"{RUNS}/yardstick-{n}") for n in range(attempts)))
    return sum(writes) / seconds


async def _write(api: Api, attempt: Attempt) -> int:
    name = attempt.job["metadata"]["name"]
    job = await api.request("POST", JOBS, {**attempt.job, "status": {}})
    pod = make_pod(job)
    pod["metadata"]["labels"] = attempt.job["metadata"]["labels"]
    pod_path = f"{PODS}/{pod['metadata']['name']}"
    run_status = {
        "apiVersion": attempt.run["apiVersion"],
        "kind": attempt.run["kind"],
        "metadata": {"name": name},
        "status": attempt.run["status"],
    }
    manager = f"fieldManager={FIELD_MANAGER}&force=true"
    steps: list[tuple[str, str, Any, str]] = [
        ("POST", RUNS, {**attempt.run, "status": {}}, "application/json"),
        ("POST", PODS, pod, "application/json"),
        ("PATCH", f"{pod_path}/status", {"status": ended_pod_status(pod)}, MERGE),
        ("PATCH", f"{JOBS}/{name}/status", {"status": ended_job_status()}, MERGE),
        ("PATCH", f"{RUNS}/{name}/status?{manager}", run_status, APPLY),
        ("DELETE", f"{JOBS}/{name}", None, "application/json"),
        ("DELETE", pod_path, {"gracePeriodSeconds": 0}, "application/json"),
    ]
    for method, path, body, content_type in steps:
        await api.request(method, path, body, content_type)
    return 1 + len(steps)


async def _delete(api: Api, path: str) -> None:
    await api.request("DELETE", path)
