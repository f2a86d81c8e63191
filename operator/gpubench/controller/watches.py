"""Watches of runs, jobs and pods: a list, then every change, for ever.

kopf looks after benchmarks, of which there are few. Of children there are thousands, and a worker,
a queue, a logger and a memory for each, as kopf has them, are most of the time and memory that the
operator would need.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from gpubench.backends.labels import SELECTOR
from gpubench.controller.cache import ClusterCache
from gpubench.controller.client import (
    GONE,
    JOB_TYPES,
    NOT_FOUND,
    PODS,
    RUNS,
    ApiError,
    KubernetesClient,
    ResourceType,
)
from gpubench.controller.health import Health

CHILDREN = (RUNS, PODS, *JOB_TYPES.values())
NOT_INSTALLED_SECONDS = 20.0
"""How often a kind of job that the cluster does not know is looked for again."""
MAX_BACKOFF_SECONDS = 30.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Watch:
    """Keeps the cache up to date with one kind of object, everywhere or in one namespace."""

    client: KubernetesClient
    cluster: ClusterCache
    health: Health
    kind: ResourceType
    namespace: str | None

    async def run(self) -> None:
        """List and follow, again and again."""
        version: str | None = None
        wait = 0.0
        while True:
            try:
                if version is None:
                    version = await self._list()
                version = await self._follow(version)
                wait = 0.0
            except ApiError as error:
                version, wait = None, self._seconds_after(error, wait)
                await asyncio.sleep(wait)

    def _seconds_after(self, error: ApiError, waited: float) -> float:
        if error.status == NOT_FOUND:
            return NOT_INSTALLED_SECONDS
        if error.status != GONE:
            logger.warning("watch of %s: %s", self.kind.plural, error)
        return min(max(waited * 2, 0.5), MAX_BACKOFF_SECONDS)

    async def _list(self) -> str:
        """Take over all there are, forget what is gone; return the version of the list."""
        uids: set[str] = set()
        version = ""
        pages = self.client.pages(self.kind, self.namespace, label_selector=SELECTOR)
        async for items, listed_at in pages:
            self.health.heard()
            version = listed_at
            uids.update(item["metadata"]["uid"] for item in items)
            for item in items:
                self.cluster.take_event(None, item)
        self.cluster.forget_unlisted(self.kind.kind, self.namespace, uids, int(version))
        return version

    async def _follow(self, version: str) -> str:
        """Take over changes until the API server ends the watch; return the version then."""
        events = self.client.watch(self.kind, self.namespace, version, label_selector=SELECTOR)
        async for event in events:
            self.health.heard()
            item = event["object"]
            version = item["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                self.cluster.take_event(event["type"], item)
        return version


async def watch_children(
    client: KubernetesClient, cluster: ClusterCache, health: Health, namespaces: list[str]
) -> None:
    """Watch all kinds of children, in these namespaces or in all, until cancelled."""
    places: list[str | None] = [*namespaces] or [None]
    async with asyncio.TaskGroup() as watches:
        for kind in CHILDREN:
            for namespace in places:
                watches.create_task(Watch(client, cluster, health, kind, namespace).run())
