"""The clock, as the command line writes it."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """Return the present time, RFC 3339 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def short_duration(seconds: float) -> str:
    """Return a duration as kubectl writes it: its two largest units, such as 3m20s."""
    whole = max(round(seconds), 0)
    for size, unit, smaller_size, smaller in (
        (86_400, "d", 3600, "h"),
        (3600, "h", 60, "m"),
        (60, "m", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // smaller_size
            return f"{whole // size}{unit}" + (f"{rest}{smaller}" if rest else "")
    return f"{whole}s"
