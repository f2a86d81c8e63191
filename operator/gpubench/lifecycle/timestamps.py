"""Moments as Kubernetes writes them, and as we count with them: seconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime


def to_timestamp(seconds: float) -> str:
    """Return a moment as RFC 3339 in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(as_told(seconds), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_told(seconds: float) -> float:
    """Return a moment as it will be read from its timestamp: to the millisecond."""
    return round(seconds, 3)


def from_timestamp(text: str) -> float:
    """Return seconds since the epoch for a moment in RFC 3339."""
    return datetime.fromisoformat(text).timestamp()
