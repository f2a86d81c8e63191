"""Requests to the API server: few verbs, plain dicts, retried where that is safe."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.config import (
    ConfigException,
    load_incluster_config,
    load_kube_config,
)
from pydantic.alias_generators import to_camel

from gpubench.controller.counters import ApiCounters

FIELD_MANAGER = "gpubench-operator"
JSON = "application/json"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
AS_OURS = {"fieldManager": FIELD_MANAGER}
REQUEST_SECONDS = 30
REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
CONCURRENT_REQUESTS = 32
PAGE_SIZE = 500
RETRIES = 6
RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})
NOT_FOUND, CONFLICT, GONE = 404, 409, 410
WATCH_SECONDS = 270
"""The API server ends a watch after this long, so that one that is dead in silence is noticed."""

Object = dict[str, Any]


class ApiError(Exception):
    """The API server refused a request, or could not be reached; `status` is 0 then."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class ResourceType:
    """A kind of object and where the API server has it."""

    api_version: str
    kind: str
    plural: str

    def path(self, namespace: str | None, name: str | None = None, sub: str | None = None) -> str:
        """Return the URL's path of an object or of a collection."""
        parts = ["/api" if "/" not in self.api_version else "/apis", self.api_version]
        if namespace is not None:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, sub) if part is not None]
        return "/".join(parts)


BENCHMARKS = ResourceType("gpubench.io/v1alpha1", "GPUBenchmark", "gpubenchmarks")
RUNS = ResourceType("gpubench.io/v1alpha1", "GPUBenchmarkRun", "gpubenchmarkruns")
PODS = ResourceType("v1", "Pod", "pods")
EVENTS = ResourceType("v1", "Event", "events")
JOB_TYPES = {
    "PyTorchJob": ResourceType("kubeflow.org/v1", "PyTorchJob", "pytorchjobs"),
    "Job": ResourceType("batch/v1", "Job", "jobs"),
    "TrainJob": ResourceType("trainer.kubeflow.org/v1alpha1", "TrainJob", "trainjobs"),
}
LOCAL_QUEUES = ResourceType("kueue.x-k8s.io/v1beta1", "LocalQueue", "localqueues")


async def load_configuration() -> Configuration:
    """Return how to reach the cluster: from inside a pod, else by KUBECONFIG.

    Raises:
        ConfigException: there is neither.
    """
    configuration = Configuration()
    try:
        load_incluster_config(client_configuration=configuration)
    except ConfigException:
        await load_kube_config(client_configuration=configuration)
    # Requests wait for a slot of ours; watches hold their connections.
    configuration.connection_pool_maxsize = 0
    # Else every request would read ~/.netrc and look for proxies.
    configuration.client_session_kwargs = {"trust_env": False}
    return configuration


@dataclass(frozen=True)
class Body:
    """What a request carries."""

    content: Object
    content_type: str = JSON


class KubernetesClient:
    """The API server, as far as the operator uses it."""

    def __init__(self, api: ApiClient, counters: ApiCounters) -> None:
        self._connection = api
        self._slots = asyncio.Semaphore(CONCURRENT_REQUESTS)
        self._counters = counters

    async def get(self, kind: ResourceType, namespace: str, name: str) -> Object | None:
        """Return an object, None where there is none."""
        try:
            return await self._request("GET", kind.path(namespace, name))
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    async def list(
        self, kind: ResourceType, namespace: str | None, **selectors: str
    ) -> AsyncIterator[Object]:
        """Yield the objects that selectors leave, page by page."""
        async for items, _ in self.pages(kind, namespace, **selectors):
            for item in items:
                yield item

    async def pages(
        self, kind: ResourceType, namespace: str | None, **selectors: str
    ) -> AsyncIterator[tuple[Sequence[Object], str]]:
        """Yield what selectors leave page by page, each with the version of the whole list."""
        query = {"limit": str(PAGE_SIZE), **_selecting(selectors)}
        while True:
            page = await self._request("GET", kind.path(namespace), query)
            # A list names kind and version once for all.
            names = {"apiVersion": kind.api_version, "kind": kind.kind}
            yield [{**names, **item} for item in page["items"]], page["metadata"]["resourceVersion"]
            token = page["metadata"].get("continue")
            if not token:
                return
            query["continue"] = token

    async def watch(
        self, kind: ResourceType, namespace: str | None, version: str, **selectors: str
    ) -> AsyncIterator[Object]:
        """Yield what happens after a version, until the API server ends the watch.

        Raises:
            ApiError: 410 where the version is too old: list again.
        """
        query = {
            "watch": "1",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
            **_selecting(selectors),
        }
        self._counters.request("watch")
        timeout = aiohttp.ClientTimeout(sock_read=WATCH_SECONDS + REQUEST_SECONDS)
        try:
            async with await self._open("GET", kind.path(namespace), query, timeout) as response:
                async for line in response.content:
                    event: Object = json.loads(line)
                    if event["type"] == "ERROR":
                        raise ApiError(event["object"]["code"], event["object"]["message"])
                    yield event
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise ApiError(0, f"{type(error).__name__}: {error}") from None

    async def create(self, kind: ResourceType, manifest: Object) -> Object:
        """Create an object; raises ApiError 409 where one of its name exists."""
        path = kind.path(manifest["metadata"]["namespace"])
        return await self._request("POST", path, AS_OURS, Body(manifest))

    async def delete(
        self, kind: ResourceType, namespace: str, name: str, uid: str | None = None
    ) -> None:
        """Delete an object and, in the background, what it owns; one that is gone is fine."""
        body: Object = {"propagationPolicy": "Background"}
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        try:
            await self._request("DELETE", kind.path(namespace, name), body=Body(body))
        except ApiError as error:
            # Conflict: another object has that name by now, which is as gone.
            if error.status not in (NOT_FOUND, CONFLICT):
                raise

    async def apply_status(
        self, kind: ResourceType, namespace: str, name: str, status: Mapping[str, Any]
    ) -> Object:
        """Make an object's status this one by server-side apply."""
        body = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name, "namespace": namespace},
            "status": status,
        }
        path = kind.path(namespace, name, "status")
        return await self._request("PATCH", path, AS_OURS | {"force": "true"}, Body(body, APPLY))

    async def merge(self, kind: ResourceType, namespace: str, name: str, patch: Object) -> Object:
        """Change an object by a merge patch."""
        return await self._request("PATCH", kind.path(namespace, name), AS_OURS, Body(patch, MERGE))

    async def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] = {},
        body: Body | None = None,
    ) -> Object:
        """Send a request; again, ever later, where the server is not there or overloaded.

        Every object that we create has a name derived from what it is for, so that a creation
        whose answer was lost is found out by its conflict.
        """
        wait = 0.2
        for attempt in range(RETRIES + 1):
            try:
                async with self._slots:
                    return await self._send(method, path, query, body)
            except ApiError as error:
                self._counters.error(error.status)
                last = attempt == RETRIES
                if last or (error.status not in RETRIED_STATUSES and error.status != 0):
                    raise
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(wait * 2, 10.0)
        raise AssertionError

    async def _send(
        self, method: str, path: str, query: Mapping[str, str], body: Body | None
    ) -> Object:
        self._counters.request(method)
        try:
            async with await self._open(method, path, query, REQUEST_TIMEOUT, body) as response:
                answer: Object = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise ApiError(0, f"{type(error).__name__}: {error}") from None
        return answer

    async def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
        body: Body | None = None,
    ) -> aiohttp.ClientResponse:
        """Send a request as this process; the library's own ways cost as much as all the rest."""
        headers = {"Accept": JSON, "Content-Type": body.content_type if body else JSON}
        await self._connection.update_params_for_auth(
            headers, [], ["BearerToken"], path, method, None
        )
        url = f"{self._connection.configuration.host}{path}"
        answer = await self._connection.rest_client.request(
            method,
            f"{url}?{urlencode(query)}" if query else url,
            headers=headers,
            body=body.content if body else None,
            _request_timeout=timeout,
        )
        response: aiohttp.ClientResponse = answer.response
        if not response.ok:
            raise ApiError(response.status, _message(await response.read(), response.reason))
        return response


def _selecting(selectors: Mapping[str, str]) -> dict[str, str]:
    return {to_camel(name): selector for name, selector in selectors.items()}


def _message(content: bytes, reason: str | None) -> str:
    """Return the API server's own sentence."""
    try:
        return str(json.loads(content)["message"])
    except (TypeError, ValueError, KeyError):
        return str(reason)
