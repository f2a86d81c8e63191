"""Requests to the API server: few verbs, plain dicts, retried where that is safe."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.config import (
    ConfigException,
    load_incluster_config,
    load_kube_config,
)
from kubernetes.aio.dynamic import DynamicClient

from gpubench.controller.counters import ApiCounters

FIELD_MANAGER = "gpubench-operator"
REQUEST_SECONDS = 30
CONCURRENT_REQUESTS = 32
PAGE_SIZE = 500
RETRIES = 6
RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})
NOT_FOUND, CONFLICT = 404, 409

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
    configuration.connection_pool_maxsize = CONCURRENT_REQUESTS
    return configuration


class KubernetesClient:
    """The API server, as far as the operator uses it."""

    def __init__(self, api: ApiClient, counters: ApiCounters) -> None:
        self._dynamic = DynamicClient(api)
        self._slots = asyncio.Semaphore(CONCURRENT_REQUESTS)
        self._counters = counters

    async def get(self, kind: ResourceType, namespace: str, name: str) -> Object | None:
        """Return an object, None where there is none."""
        try:
            return await self._request("get", kind.path(namespace, name))
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    async def list(
        self, kind: ResourceType, namespace: str | None, **selectors: str
    ) -> AsyncIterator[Object]:
        """Yield the objects that selectors leave, page by page."""
        token = None
        while True:
            page = await self._request(
                "get", kind.path(namespace), limit=PAGE_SIZE, _continue=token, **selectors
            )
            for item in page["items"]:
                # A list names kind and version once for all.
                yield {"apiVersion": kind.api_version, "kind": kind.kind, **item}
            token = page["metadata"].get("continue")
            if not token:
                return

    async def create(self, kind: ResourceType, manifest: Object) -> Object:
        """Create an object; raises ApiError 409 where one of its name exists."""
        path = kind.path(manifest["metadata"]["namespace"])
        return await self._request("post", path, body=manifest, field_manager=FIELD_MANAGER)

    async def delete(
        self, kind: ResourceType, namespace: str, name: str, uid: str | None = None
    ) -> None:
        """Delete an object and, in the background, what it owns; one that is gone is fine."""
        body: Object = {"propagationPolicy": "Background"}
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        try:
            await self._request("delete", kind.path(namespace, name), body=body)
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
        return await self._request(
            "patch",
            kind.path(namespace, name, "status"),
            body=body,
            content_type="application/apply-patch+yaml",
            field_manager=FIELD_MANAGER,
            force_conflicts="true",
        )

    async def merge(self, kind: ResourceType, namespace: str, name: str, patch: Object) -> Object:
        """Change an object by a merge patch."""
        return await self._request(
            "patch",
            kind.path(namespace, name),
            body=patch,
            content_type="application/merge-patch+json",
            field_manager=FIELD_MANAGER,
        )

    async def _request(self, method: str, path: str, **parameters: Any) -> Object:
        """Send a request; again, ever later, where the server is not there or overloaded.

        Every object that we create has a name derived from what it is for, so that a creation
        whose answer was lost is found out by its conflict.
        """
        wait = 0.2
        for attempt in range(RETRIES + 1):
            try:
                async with self._slots:
                    return await self._send(method, path, **parameters)
            except ApiError as error:
                self._counters.error(error.status)
                last = attempt == RETRIES
                if last or (error.status not in RETRIED_STATUSES and error.status != 0):
                    raise
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(wait * 2, 10.0)
        raise AssertionError

    async def _send(self, method: str, path: str, **parameters: Any) -> Object:
        self._counters.request(method)
        try:
            response = await self._dynamic.request(
                method, path, serialize=False, _request_timeout=REQUEST_SECONDS, **parameters
            )
            answer: Object = await response.json(content_type=None)
        except ApiException as error:
            raise ApiError(error.status or 0, _message(error)) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ApiError(0, f"{type(error).__name__}: {error}") from None
        return answer


def _message(error: ApiException) -> str:
    """Return the API server's own sentence."""
    try:
        return str(json.loads(error.body or "")["message"])
    except (TypeError, ValueError, KeyError):
        return str(error.reason)
