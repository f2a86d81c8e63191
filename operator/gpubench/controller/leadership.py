"""One acting replica at a time, by a Lease."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import aiohttp
from kubernetes.aio.client import ApiClient, CoordinationV1Api, V1Lease, V1ObjectMeta
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.leaderelection.electionconfig import Config
from kubernetes.aio.leaderelection.leaderelection import LeaderElection
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes.aio.leaderelection.resourcelock.leaselock import LeaseLock

RENEW_SHARE = 2 / 3
"""A leader that could not renew for this share of the lease gives up before others may begin."""
RETRY_SHARE = 1 / 6
REQUEST_SECONDS = 5
UNREACHABLE = (aiohttp.ClientError, TimeoutError, OSError)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Candidacy:
    """Who wants which lease."""

    namespace: str
    name: str
    identity: str
    lease_seconds: int


class SteadyLeaseLock(LeaseLock):
    """The library's lock, for an API server that may be away for a while.

    The library lets connection errors end the election, and passes `create` a boolean where the
    API's client wants text.
    """

    async def get(
        self, name: str, namespace: str
    ) -> tuple[bool, LeaderElectionRecord] | tuple[bool, Exception] | tuple[bool, None]:
        """Read the lease."""
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                return await super().get(name, namespace)
        except UNREACHABLE as error:
            return False, ApiException(status=0, reason=str(error))

    async def update(self, name: str, namespace: str, updated_record: LeaderElectionRecord) -> bool:
        """Renew the lease."""
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                return await super().update(name, namespace, updated_record)
        except UNREACHABLE:
            return False

    async def create(
        self, name: str, namespace: str, election_record: LeaderElectionRecord
    ) -> bool:
        """Make the lease; False if somebody else has."""
        spec = self.update_lease(election_record)
        body = V1Lease(metadata=V1ObjectMeta(name=name), spec=spec)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                await self.api_instance.create_namespaced_lease(namespace, body)
        except (ApiException, *UNREACHABLE) as error:
            logger.info("the lease was not made: %s", error)
            return False
        return True


async def lead(
    api: ApiClient, candidacy: Candidacy, act: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    """Wait for the lease, then act; return when the lease is lost, with acting cancelled."""
    seconds = candidacy.lease_seconds
    config = Config(
        SteadyLeaseLock(candidacy.name, candidacy.namespace, candidacy.identity, api),
        lease_duration=seconds,
        renew_deadline=max(seconds * RENEW_SHARE, 2),
        retry_period=max(seconds * RETRY_SHARE, 1),
        onstarted_leading=act,
        onstopped_leading=_say_that_it_is_lost,
    )
    await LeaderElection(config).run()


async def _say_that_it_is_lost() -> None:
    logger.error("the lease could not be renewed")


async def release(api: ApiClient, candidacy: Candidacy) -> None:
    """Give the lease back, so that a successor need not wait for its end."""
    leases = CoordinationV1Api(api)
    try:
        lease = await leases.read_namespaced_lease(candidacy.name, candidacy.namespace)
        if lease.spec is None or lease.spec.holder_identity != candidacy.identity:
            return
        lease.spec.lease_duration_seconds = 1
        lease.spec.holder_identity = None
        await leases.replace_namespaced_lease(candidacy.name, candidacy.namespace, lease)
    except (ApiException, *UNREACHABLE) as error:
        logger.info("the lease was not given back: %s", error)
