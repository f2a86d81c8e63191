"""How much of an attempt was looked at, and why not all of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from gpubench.telemetry.dcgm.energy import Window
from gpubench.telemetry.dcgm.history import DEFAULT_REFRESH_SECONDS, ExporterHistory, Gap
from gpubench.telemetry.dcgm.join import Attempt

GOOD_COVERAGE = 0.9
"""Below that, it is said why."""
CLOCK_SECONDS = 5.0
"""An exporter's clock that differs by more is told of; samples are timed by ours all the same."""
MAX_TOLD = 4


def expected_samples(seconds: float, refresh: float) -> int:
    """Return how many samples a window has, whenever the exporter's rhythm began."""
    return max(int(seconds / refresh + 1e-9), 1)


def watched_share(window: Window, histories: Sequence[ExporterHistory]) -> float:
    """Return the share of a window that was left when the last of its exporters was first asked.

    Samples alone do not tell: an exporter that was asked late may not have shown its rhythm yet.
    """
    began_at = [h.began_at for h in histories if h.began_at is not None]
    if len(began_at) < len(histories) or not histories or window.seconds == 0.0:
        return 0.0
    left = window.end - max(window.start, *began_at)
    return min(max(left / window.seconds, 0.0), 1.0)


def is_final(attempt: Attempt, histories: Sequence[ExporterHistory]) -> bool:
    """Tell whether every exporter has shown something new since the attempt ended."""
    return bool(histories) and all(
        history.refreshed_at is not None and history.refreshed_at > attempt.ended_at
        for history in histories
    )


def gap_notes(
    attempt: Attempt,
    window: Window,
    exporters: Mapping[str, ExporterHistory],
    coverage: float,
) -> list[str]:
    """Return what kept samples away, and what else makes numbers doubtful."""
    if not exporters:
        node = attempt.node or "unknown"
        return [f"no exporter was found for the node {node}"]
    notes: list[str] = []
    for address, history in exporters.items():
        notes += _of_exporter(address, history, window, coverage)
    refresh = max(h.refresh_seconds or DEFAULT_REFRESH_SECONDS for h in exporters.values())
    if window.seconds < refresh:
        notes.append(
            f"the training took {window.seconds:.0f} s, the exporter has new values every "
            f"{refresh:.0f} s: there may be no sample of it"
        )
    return notes


def _of_exporter(
    address: str, history: ExporterHistory, window: Window, coverage: float
) -> Iterable[str]:
    failed = [gap for gap in history.gaps if gap.end >= window.start and gap.start <= window.end]
    for gap in failed[:MAX_TOLD]:
        yield f"{address}: {gap.reason}, {_times(gap)}"
    if len(failed) > MAX_TOLD:
        yield f"{address}: and {len(failed) - MAX_TOLD} more times without an answer"
    began_at = history.began_at
    if coverage < GOOD_COVERAGE and began_at is not None and began_at > window.start:
        late = began_at - window.start
        yield f"{address} was first asked {late:.0f} s after the training began"
    if coverage < GOOD_COVERAGE and history.answered_at is not None and not failed:
        yield f"{address} answered, but showed new values more rarely than expected"
    if history.clock_offset is not None and abs(history.clock_offset) > CLOCK_SECONDS:
        yield f"the clock of {address} is {history.clock_offset:+.0f} s off; ours was used"
    if history.problems:
        yield f"{address}: some of it could not be read: {history.problems[0]}"


def _times(gap: Gap) -> str:
    first, last = (
        datetime.fromtimestamp(moment, UTC).strftime("%H:%M:%S") for moment in (gap.start, gap.end)
    )
    times = "once" if gap.failures == 1 else f"{gap.failures} times"
    return f"{times} at {first}" if first == last else f"{times} from {first} to {last} UTC"
