"""An operator that a test can kill: the real reconciler over a simulated API server."""

from __future__ import annotations

from gpubench.controller.announcements import Announcer
from gpubench.controller.cache import ClusterCache
from gpubench.controller.events import EventWriter
from gpubench.controller.health import Health
from gpubench.controller.reconciler import BenchmarkReconciler
from gpubench.controller.settings import Images, OperatorSettings
from tests.unit.controller.simulated_api import Script, SimulatedApi, SimulatedClient, Watches
from tests.unit.controller.simulated_cluster import node

SETTINGS = OperatorSettings(images=Images(image_recognition="example/image:1"))


class SimulatedOperator:
    """One life of the operator: its memory, its watches and its daemons."""

    def __init__(self, api: SimulatedApi, nodes: int) -> None:
        self.cluster = ClusterCache()
        self.watches = Watches(api, self.cluster)
        api.watches = [self.watches]
        self.client = SimulatedClient(api, self.watches)
        self._announcer = Announcer(EventWriter(self.client, "test"))
        self._daemons: dict[str, BenchmarkReconciler] = {}
        self._loaded: set[str] = set()
        for number in range(nodes):
            self.cluster.take_node(None, node(f"node-{number}"))

    async def reconcile(self, script: Script) -> None:
        """Let every daemon do one round, as the handlers would."""
        self.client.follow(script)
        for uid in list(self.watches.benchmarks)[:: -1 if script.at % 2 else 1]:
            cache = self.cluster.benchmark(uid)
            if uid not in self._daemons:
                self._daemons[uid] = BenchmarkReconciler(
                    cache, self.cluster, self.client, SETTINGS, self._announcer, Health()
                )
            if uid in self.watches.gone:
                await self._daemons[uid].children.delete_all_jobs()
                self.cluster.forget(uid)
                del self.watches.benchmarks[uid]
                continue
            if uid not in self._loaded:
                await self._daemons[uid].children.load()
                self._loaded.add(uid)
            cache.wake.clear()
            await self._daemons[uid].reconcile()
