"""One request to an exporter, within bounds of time and size."""

from __future__ import annotations

import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum

import aiohttp

ACCEPT = "text/plain;version=0.0.4;q=1,*/*;q=0.1"
CHUNK_BYTES = 65_536


class Trouble(StrEnum):
    """Why a scrape gave nothing."""

    TIMEOUT = "Timeout"
    """No whole answer in time."""
    UNREACHABLE = "Unreachable"
    """Nobody answers there."""
    REFUSED = "Refused"
    """Another HTTP status than 200."""
    TOO_LARGE = "TooLarge"
    """A body beyond the bound."""
    INCOMPLETE = "Incomplete"
    """The connection ended in the middle of the answer."""
    UNREADABLE = "Unreadable"
    """The body is not an exposition with GPUs in it."""


class ScrapeError(Exception):
    """A scrape gave nothing; the text says why, on one line."""

    def __init__(self, trouble: Trouble, message: str) -> None:
        super().__init__(message)
        self.trouble = trouble


@dataclass(frozen=True)
class Bounds:
    """How long a scrape may take and how much it may bring."""

    seconds: float = 5.0
    bytes: int = 32 * 2**20
    """10,000 series are about 4 MiB."""


@dataclass(frozen=True)
class Scrape:
    """An answer. Times are seconds since the epoch by our clock."""

    body: bytes
    at: float
    """When it came, half-way through."""
    clock_offset: float | None
    """How far the exporter's clock is ahead of ours, to about a second; None if it tells none."""


async def scrape(session: aiohttp.ClientSession, url: str, bounds: Bounds) -> Scrape:
    """Ask an exporter once.

    Redirects are not followed and compressed answers not taken: neither is a thing that
    dcgm-exporter does, and both would lead around the bounds.

    Raises:
        ScrapeError: there is no whole answer.
    """
    began_at = time.time()
    headers = {"Accept": ACCEPT, "Accept-Encoding": "identity"}
    timeout = aiohttp.ClientTimeout(total=bounds.seconds)
    try:
        async with session.get(
            url, headers=headers, timeout=timeout, allow_redirects=False
        ) as answer:
            if answer.status != 200 or answer.headers.get("Content-Encoding"):
                reason = f"HTTP {answer.status} {answer.headers.get('Content-Encoding', '')}"
                raise ScrapeError(Trouble.REFUSED, reason.strip())
            body = await _read(answer, bounds.bytes)
            at = (began_at + time.time()) / 2
            return Scrape(body, at, _clock_offset(answer.headers.get("Date"), at))
    except TimeoutError:
        raise ScrapeError(Trouble.TIMEOUT, f"no answer within {bounds.seconds:g} s") from None
    except aiohttp.ClientPayloadError:
        raise ScrapeError(Trouble.INCOMPLETE, "the answer was cut off") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ScrapeError(Trouble.UNREACHABLE, reason) from None


async def _read(answer: aiohttp.ClientResponse, most: int) -> bytes:
    parts, size = [], 0
    async for part in answer.content.iter_chunked(CHUNK_BYTES):
        size += len(part)
        if size > most:
            raise ScrapeError(Trouble.TOO_LARGE, f"more than {most} bytes")
        parts.append(part)
    return b"".join(parts)


def _clock_offset(date: str | None, at: float) -> float | None:
    """Compare the Date header, which is whole seconds, with our clock."""
    try:
        return parsedate_to_datetime(date).timestamp() - at if date else None
    except (ValueError, OverflowError):
        return None
