"""Where the dcgm-exporters of nodes are: named in the settings, or found by their labels."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from gpubench.controller.client import PODS, ApiError, KubernetesClient
from gpubench.controller.settings import DcgmSettings

LOOK_AGAIN_SECONDS = 30.0
"""How often exporters' pods are listed while runs are on nodes."""
LOOK_FOR_NEW_SECONDS = 5.0
"""How often where a node has none yet."""
EVERY_NODE = ""
"""Stands for the node of an exporter that the settings name without one."""

logger = logging.getLogger(__name__)


class Exporters:
    """The exporters that are known, by a name that outlives their pods, each with its address."""

    def __init__(self, client: KubernetesClient, settings: DcgmSettings) -> None:
        self._client = client
        self._settings = settings
        self._looked_at: float | None = None
        self._pods: dict[str, str] = {}
        """Address of each node's exporter."""
        self._is_forbidden = False

    @property
    def are_there(self) -> bool:
        """Whether there is any in the cluster, as far as is known."""
        return bool(self._settings.endpoints or self._pods)

    async def of_nodes(self, nodes: Iterable[str], now: float) -> dict[str, str]:
        """Return the exporters of nodes; pods are listed only where that is due."""
        wanted = set(nodes)
        if self._settings.endpoints:
            return {
                name: endpoint.url
                for name, endpoint in self._named().items()
                if endpoint.node is None or endpoint.node in wanted
            }
        has_all = wanted <= self._pods.keys()
        patience = LOOK_AGAIN_SECONDS if has_all else LOOK_FOR_NEW_SECONDS
        if wanted and (self._looked_at is None or now - self._looked_at >= patience):
            self._looked_at = now
            await self._look()
        return {node: url for node, url in self._pods.items() if node in wanted}

    def names_for(self, node: str | None) -> set[str]:
        """Return the names of the exporters that may show a node's GPUs."""
        if self._settings.endpoints:
            return {n for n, e in self._named().items() if e.node in (None, node)}
        return {node} if node else set()

    def is_on(self, name: str, node: str | None) -> bool:
        """Tell whether an exporter runs on a node for certain, and so by the same clock."""
        endpoint = self._named().get(name)
        return node is not None and (endpoint.node if endpoint else name) == node

    def _named(self) -> dict[str, Any]:
        return {endpoint.url: endpoint for endpoint in self._settings.endpoints}

    async def _look(self) -> None:
        try:
            found = self._client.list(
                PODS, self._settings.namespace, label_selector=self._settings.pod_selector
            )
            pods = [pod async for pod in found]
        except ApiError as error:
            if not self._is_forbidden:
                logger.warning("exporters cannot be looked for: %s", error)
            self._is_forbidden = True
            return
        self._is_forbidden = False
        self._pods = addresses(pods, self._settings.port)


def addresses(pods: Iterable[Mapping[str, Any]], port: int) -> dict[str, str]:
    """Return the address of the exporter on each node: of several, that of the newest pod."""
    newest: dict[str, tuple[str, str]] = {}
    for pod in pods:
        status, node = pod.get("status") or {}, pod["spec"].get("nodeName")
        address = status.get("podIP")
        if not node or not address or status.get("phase") != "Running":
            continue
        host = f"[{address}]" if ":" in address else address
        created = pod["metadata"]["creationTimestamp"]
        newest[node] = max(newest.get(node, ("", "")), (created, f"http://{host}:{port}/metrics"))
    return {node: url for node, (_, url) in newest.items()}
