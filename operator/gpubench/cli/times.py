"""The clock, as the command line writes it."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """Return the present time, RFC 3339 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
