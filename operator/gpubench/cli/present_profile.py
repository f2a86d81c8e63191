"""A profile as tables for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gpubench.api.profile import EventStatistics, GpuActivity, NameStatistics, Profile
from gpubench.cli.console import make_console

MOST_ROWS = 10
"""Names that a table shows; the other formats have all."""
WIDEST_NAME = 56
_DURATIONS = ("calls", "total", "mean", "p50", "p99", "min", "max")


def profile_text(profile: Profile) -> str:
    """Return the tables as text, coloured on a terminal only."""
    console = make_console()
    with console.capture() as captured:
        console.print(_everything(profile))
    return captured.get()


def _everything(profile: Profile) -> Group:
    parts: list[RenderableType] = [_headline(profile), _families(profile)]
    copies = [family for family in profile.families.values() if family.copies]
    if copies:
        parts.append(_copies(profile))
    if profile.activity:
        parts.append(_activity(profile.activity))
    latency = profile.launch_latency
    if latency:
        parts.append(
            Text(
                f"Launch latency: mean {_time(latency.mean)}, p50 {_time(latency.p50)}, p99"
                f" {_time(latency.p99)}, max {_time(latency.maximum)} ({latency.count} kernels)"
            )
        )
    if profile.phases:
        rows = [
            (phase.name, _percent(phase.share), _time(phase.gpu_seconds), *_durations(phase))
            for phase in profile.phases
        ]
        parts.append(_table("Phases", ("phase", "share", "on GPU", *_DURATIONS), rows))
    parts += _name_tables(profile)
    parts += [Text(f"! {note}", style="yellow") for note in profile.notes]
    if profile.missing:
        parts.append(Text(f"Not in the report: {', '.join(profile.missing)}", style="dim"))
    return Group(*parts)


def _headline(profile: Profile) -> Text:
    version = f" {profile.version}" if profile.version else ""
    schema = f", schema {profile.schema_version}" if profile.schema_version else ""
    events = f", {profile.events:,} events" if profile.events is not None else ""
    window = _time(profile.window.seconds)
    return Text(f"{profile.source}{version}{schema}: window of {window}{events}", style="bold")


def _families(profile: Profile) -> Table:
    rows = [
        (family.value, _percent(numbers.share), *_durations(numbers))
        for family, numbers in sorted(
            profile.families.items(), key=lambda item: -item[1].total_seconds
        )
    ]
    return _table("Families", ("family", "share", *_DURATIONS), rows)


def _copies(profile: Profile) -> Table:
    rows = []
    for family, numbers in profile.families.items():
        kinds = (
            ("all", numbers.copies),
            ("pageable", numbers.pageable),
            ("pinned", numbers.pinned),
        )
        rows += [
            (
                family.value,
                kind,
                f"{copy.calls:,}",
                _bytes(copy.total_bytes),
                _rate(copy.bytes_per_second),
            )
            for kind, copy in kinds
            if copy
        ]
    return _table("Copies", ("family", "host memory", "calls", "bytes", "bandwidth"), rows, texts=2)


def _activity(activity: GpuActivity) -> Table:
    rows = [
        ("idle, mean of GPUs", "", _percent(activity.idle_share)),
        ("busy", _time(activity.busy_seconds), ""),
        ("computing", _time(activity.compute_seconds), ""),
        (
            "communicating; beside computation",
            _time(activity.communication_seconds),
            _percent(activity.communication_overlap),
        ),
        ("communication exposed", _time(activity.exposed_communication_seconds), ""),
        (
            "copying; beside computation",
            _time(activity.copy_seconds),
            _percent(activity.copy_overlap),
        ),
    ]
    return _table(f"GPU activity, {activity.gpus} GPUs", ("", "time", "share"), rows)


def _name_tables(profile: Profile) -> Iterable[Table]:
    lists: tuple[tuple[str, Sequence[NameStatistics]], ...] = (
        ("Top kernels", profile.kernels),
        ("Other NVTX ranges", profile.ranges),
        ("Calls without a family of their own", profile.unmapped),
    )
    for title, names in lists:
        if names:
            rows = [(name.name, *_durations(name)) for name in names[:MOST_ROWS]]
            more = f" ({MOST_ROWS} of {len(names)})" if len(names) > MOST_ROWS else ""
            yield _table(f"{title}{more}", ("name", *_DURATIONS), rows)


def _durations(numbers: EventStatistics) -> tuple[str, ...]:
    return (
        f"{numbers.calls:,}",
        _time(numbers.total_seconds),
        _time(numbers.mean_seconds),
        _time(numbers.p50_seconds),
        _time(numbers.p99_seconds),
        _time(numbers.min_seconds),
        _time(numbers.max_seconds),
    )


def _table(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1
) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1),
    )
    for place, heading in enumerate(headings):
        if place < texts:
            table.add_column(heading, no_wrap=True, overflow="ellipsis", max_width=WIDEST_NAME)
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds * 1e9:.3g} ns"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:.2f} %"


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def _rate(bytes_per_second: float | None) -> str:
    return "" if bytes_per_second is None else f"{_bytes(bytes_per_second)}/s"
