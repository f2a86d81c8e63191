"""Whether this process still does its work: what the probes ask."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

MAX_GAPS = 2
"""Lists in a row that showed what no watch had told, before the watches are taken for dead."""
MAX_FAILING_SECONDS = 600.0
"""How long reconciling a benchmark may fail before a new process is worth a try."""


@dataclass
class Health:
    """Collects signs of life; a watch that has died in silence shows as a gap in a list.

    The age of the last event alone proves nothing: on a quiet cluster nothing happens.
    """

    is_leader: bool = False
    is_ready: bool = False
    last_event_at: float = field(default_factory=time.monotonic)
    _gaps: dict[str, int] = field(default_factory=dict)
    _failing_since: dict[str, float] = field(default_factory=dict)

    def heard(self) -> None:
        """Take note of a watch event."""
        self.last_event_at = time.monotonic()

    def relisted(self, benchmark_uid: str, news: int) -> None:
        """Take note of how many objects a list showed that no watch had told of."""
        self._gaps[benchmark_uid] = self._gaps.get(benchmark_uid, 0) + 1 if news else 0

    def reconciled(self, benchmark_uid: str, *, failed: bool) -> None:
        """Take note of how reconciling a benchmark went."""
        if failed:
            self._failing_since.setdefault(benchmark_uid, time.monotonic())
        else:
            self._failing_since.pop(benchmark_uid, None)

    def forget(self, benchmark_uid: str) -> None:
        """Take note that a benchmark is gone."""
        self._gaps.pop(benchmark_uid, None)
        self._failing_since.pop(benchmark_uid, None)

    @property
    def event_age_seconds(self) -> float:
        """Seconds since the last watch event."""
        return time.monotonic() - self.last_event_at

    def complaint(self) -> str | None:
        """Return why this process should be replaced, None while it is well."""
        if any(gaps >= MAX_GAPS for gaps in self._gaps.values()):
            return "a watch has stopped telling what happens"
        now = time.monotonic()
        if any(now - since > MAX_FAILING_SECONDS for since in self._failing_since.values()):
            return f"a benchmark could not be reconciled for {MAX_FAILING_SECONDS:.0f} s"
        return None
