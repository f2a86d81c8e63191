"""What the API server is asked where two watches do not fit together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, cast

from gpubench.controller.cache import BenchmarkCache
from gpubench.controller.children import Children
from gpubench.controller.client import KubernetesClient
from gpubench.controller.observer import doubtful_jobs
from tests.unit.backends.objects import RUNS_NOW, ran
from tests.unit.controller.objects import RUN, cache_of, own_job, own_pod, run

OTHER = "other-run"
SUCCEEDED = {"Succeeded": "True"}


def of_other_run(item: dict[str, Any]) -> dict[str, Any]:
    """Return an object as the other run has it."""
    text = json.dumps(item).replace(RUN.name, OTHER).replace('"uid-', '"uid-other-')
    return cast("dict[str, Any]", json.loads(text))


def ended_job(version: int = 9) -> dict[str, Any]:
    return cast("dict[str, Any]", own_job(SUCCEEDED, version=version))


def ended_pod(version: int = 8) -> dict[str, Any]:
    return cast("dict[str, Any]", own_pod(ran(0), phase="Succeeded", version=version))


class ServerThatIsAheadOfItsWatches:
    """Answers with the pods as they are; meanwhile a watch tells of the end of another job."""

    def __init__(self, cache: BenchmarkCache) -> None:
        self._cache = cache
        self.asked: list[str] = []

    async def list(self, _kind: object, _namespace: str, *, label_selector: str) -> AsyncIterator:
        self.asked.append(label_selector)
        if OTHER in label_selector:
            yield of_other_run(ended_pod())
        else:
            self._cache.put(of_other_run(ended_job()))
            yield ended_pod()


def test_doubts_that_arise_while_others_are_resolved_are_resolved_too() -> None:
    cache = cache_of(
        run(),
        ended_job(),
        own_pod(RUNS_NOW),
        *(of_other_run(item) for item in (run(), own_job(), own_pod(RUNS_NOW))),
    )
    server = ServerThatIsAheadOfItsWatches(cache)
    children = Children(cache, cast("KubernetesClient", server), "lab", "demo", "uid-benchmark")
    # The other run is looked at first, while its job goes on as far as the watches have told.
    asyncio.run(children.resolve_doubts([OTHER, RUN.name]))
    assert [doubtful_jobs(cache, record) for record in cache.runs.values()] == [[], []]
    assert len(server.asked) == 2
