"""Scrapes many exporters side by side, each in its own rhythm; none waits for another."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterable, Mapping
from typing import Protocol

import aiohttp

from gpubench.telemetry.dcgm.exposition import ExpositionError, ExpositionParser
from gpubench.telemetry.dcgm.history import ExporterHistory
from gpubench.telemetry.dcgm.scrape import Bounds, Scrape, ScrapeError, Trouble, scrape

EARLY = 0.9
"""A refresh is waited for from so much of its period on."""


class ScrapeCounters(Protocol):
    """Who counts scrapes."""

    def scraped(self) -> None:
        """Count a scrape."""

    def failed(self, trouble: Trouble) -> None:
        """Count a scrape that gave nothing."""

    def gap_began(self) -> None:
        """Count an exporter that stopped answering."""


class Collector:
    """Follows exporters by names and addresses; use as an async context manager.

    `histories` has what each has shown by its name, and is only changed by the event loop's thread.
    """

    def __init__(
        self,
        interval_seconds: float = 2.0,
        bounds: Bounds | None = None,
        counters: ScrapeCounters | None = None,
    ) -> None:
        """Ask each exporter no more often than every `interval_seconds`."""
        self._interval = interval_seconds
        self._bounds = bounds or Bounds()
        self._counters = counters
        self._session: aiohttp.ClientSession | None = None
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        """By name and address."""
        self.histories: dict[str, ExporterHistory] = {}

    async def __aenter__(self) -> Collector:
        """Open connections."""
        connector = aiohttp.TCPConnector(limit=0, limit_per_host=0)
        # Neither cookies nor a proxy of the environment: exporters are in the cluster.
        self._session = aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop following, and close connections."""
        self.follow({})
        assert self._session is not None
        await self._session.close()

    def follow(self, exporters: Mapping[str, str]) -> None:
        """Scrape these from now on, and no others: addresses by names.

        What others have shown is kept. One that is at another address than before goes on under
        its name, as a pod does that was replaced.
        """
        wanted = exporters.items()
        for gone in self._tasks.keys() - wanted:
            self._tasks.pop(gone).cancel()
        for name, address in wanted - self._tasks.keys():
            history = self.histories.setdefault(name, ExporterHistory())
            self._tasks[name, address] = asyncio.create_task(self._follow(address, history))

    def forget(self, names: Iterable[str]) -> None:
        """Drop what exporters have shown that are no longer followed."""
        followed = {name for name, _ in self._tasks}
        for name in set(names) - followed:
            self.histories.pop(name, None)

    async def _follow(self, address: str, history: ExporterHistory) -> None:
        exporter = _Exporter(address, history)
        while True:
            began_at = time.monotonic()
            await self._look(exporter)
            wait = seconds_to_wait(history, time.time(), self._interval)
            await asyncio.sleep(max(began_at + wait - time.monotonic(), 0.05))

    async def _look(self, exporter: _Exporter) -> None:
        assert self._session is not None
        if self._counters:
            self._counters.scraped()
        try:
            await exporter.take(await scrape(self._session, exporter.address, self._bounds))
            exporter.is_down = False
        except ScrapeError as error:
            exporter.history.fail(time.time(), f"{error.trouble}: {error}")
            if self._counters:
                self._counters.failed(error.trouble)
                if not exporter.is_down:
                    self._counters.gap_began()
            exporter.is_down = True


class _Exporter:
    """An exporter that is followed, and what is remembered from one scrape to the next."""

    def __init__(self, address: str, history: ExporterHistory) -> None:
        self.address = address
        self.history = history
        self.is_down = False
        self._parser = ExpositionParser()
        self._digest = b""

    async def take(self, answer: Scrape) -> None:
        """Take over an answer; one that is as the last is not read again.

        Raises:
            ScrapeError: it cannot be read.
        """
        digest = hashlib.blake2b(answer.body, digest_size=16).digest()
        if digest == self._digest:
            self.history.repeat(answer.at)
            return
        try:
            text = answer.body.decode()
            # 10,000 series take a good part of a second the first time.
            exposition = await asyncio.to_thread(self._parser.parse, text)
        except (ExpositionError, UnicodeDecodeError) as error:
            raise ScrapeError(Trouble.UNREADABLE, str(error)) from None
        self._digest = digest
        self.history.add(exposition, answer.at, answer.clock_offset)


def seconds_to_wait(history: ExporterHistory, now: float, interval: float) -> float:
    """Return when to ask again: shortly before new values are due, from then on often."""
    refresh, last = history.refresh_seconds, history.refreshed_at
    if refresh is None or last is None or history.answered_at is None:
        return interval
    return max(last + EARLY * refresh - now, interval)
