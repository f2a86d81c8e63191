"""The leanest client there is, so that what is measured is the operator and the API server."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.bench.operator_scale.control_plane import ControlPlane

NAMESPACE = "default"
RUNS = f"/apis/gpubench.io/v1alpha1/namespaces/{NAMESPACE}/gpubenchmarkruns"
BENCHMARKS = f"/apis/gpubench.io/v1alpha1/namespaces/{NAMESPACE}/gpubenchmarks"
JOBS = f"/apis/kubeflow.org/v1/namespaces/{NAMESPACE}/pytorchjobs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
OURS = "app.kubernetes.io/managed-by=gpubench"
CONNECTIONS = 64
OK, REDIRECTED, CONFLICT, TOO_MANY = 200, 300, 409, 429
TRIES = 10

Object = dict[str, Any]


class RefusedError(Exception):
    """The API server's answer was an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """Requests as plain dicts."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    @classmethod
    @asynccontextmanager
    async def connect(cls, plane: ControlPlane) -> AsyncIterator[Api]:
        trust = ssl.create_default_context(cafile=str(plane.authority))
        connector = aiohttp.TCPConnector(ssl=trust, limit=CONNECTIONS)
        headers = {"Authorization": f"Bearer {plane.token}"}
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(
            plane.address,
            connector=connector,
            headers=headers,
            timeout=timeout,
            read_bufsize=2**22,
        ) as session:
            yield cls(session)

    async def request(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> Object:
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": content_type}
        status, content = 0, b""
        for attempt in range(TRIES):
            try:
                status, content = await self._send(method, path, data, headers)
            except aiohttp.ClientConnectionError as error:
                status, content = 0, repr(error).encode()
            if status == CONFLICT and attempt and method == "POST":
                return {}
            if status not in (0, TOO_MANY):
                break
            # As it says for some seconds after a CRD is applied.
            await asyncio.sleep(1)
        if not OK <= status < REDIRECTED:
            raise RefusedError(status, content.decode(errors="replace")[:500])
        answer: Object = json.loads(content)
        return answer

    async def _send(
        self, method: str, path: str, data: str | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        async with self._session.request(method, path, data=data, headers=headers) as response:
            return response.status, await response.read()

    async def text(self, path: str) -> str:
        async with self._session.get(path) as response:
            return await response.text()

    async def list(self, path: str, selector: str = "") -> tuple[list[Object], str]:
        """Return all objects and the version of the list."""
        page = await self.request("GET", f"{path}?labelSelector={selector}")
        return page["items"], page["metadata"]["resourceVersion"]

    async def watch(self, path: str, version: str, selector: str = "") -> AsyncIterator[Object]:
        """Yield events for ever; the API server ends watches that it finds slow."""
        while True:
            query = f"watch=1&resourceVersion={version}&labelSelector={selector}"
            async with self._session.get(f"{path}?{query}") as response:
                async for line in response.content:
                    event: Object = json.loads(line)
                    if event["type"] == "ERROR":
                        raise RefusedError(event["object"]["code"], event["object"]["message"])
                    version = event["object"]["metadata"]["resourceVersion"]
                    yield event
