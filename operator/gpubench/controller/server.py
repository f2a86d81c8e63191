"""/metrics, /healthz and /readyz."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from gpubench.controller.health import Health


@asynccontextmanager
async def serving(port: int, registry: CollectorRegistry, health: Health) -> AsyncIterator[None]:
    """Serve while the context lasts."""
    application = web.Application()
    application.router.add_get("/metrics", _metrics_handler(registry))
    application.router.add_get("/healthz", _health_handler(health))
    application.router.add_get("/readyz", _ready_handler(health))
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, port=port).start()
        yield
    finally:
        await runner.cleanup()


def _metrics_handler(registry: CollectorRegistry):  # type: ignore[no-untyped-def]  # aiohttp's own type is private
    async def metrics(_request: web.Request) -> web.Response:
        # A second for a thousand runs, in which reconciling must go on.
        body = await asyncio.to_thread(generate_latest, registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    return metrics


def _health_handler(health: Health):  # type: ignore[no-untyped-def]  # as above
    async def healthz(_request: web.Request) -> web.Response:
        complaint = health.complaint()
        return web.Response(text=complaint or "ok", status=503 if complaint else 200)

    return healthz


def _ready_handler(health: Health):  # type: ignore[no-untyped-def]  # as above
    async def readyz(_request: web.Request) -> web.Response:
        # A replica that waits for the lease is ready, too: to take over.
        role = "leading" if health.is_leader else "standing by"
        status = 200 if health.is_ready else 503
        return web.Response(text=role if health.is_ready else "starting", status=status)

    return readyz
