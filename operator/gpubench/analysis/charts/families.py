"""Where the time of profiled runs went: families of profiler events for each point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpubench.analysis.charts.bars import MOST_BARS, with_rest
from gpubench.analysis.numerals import format_number
from gpubench.analysis.report import Axis, Chart, ChartKind, Mark
from gpubench.analysis.study import Point, Study
from gpubench.api.enums import Family
from gpubench.api.result import FamilyStatistics

# Beyond these a stack has slices that nobody can tell apart.
MOST_FAMILIES = 8


def families_chart(study: Study, points: Sequence[Point]) -> Chart | None:
    """Return the shares of profiler families for each point (Fig. 3)."""
    return _stacked_chart(
        study,
        points,
        ("families", "Profiled time by family", Axis("Share of the families shown", "%")),
        _family_marks,
        "As Fig. 3 of Lawenda et al. 2025: the families shown add up to 100 %. Calls on the "
        "host overlap with work on the GPU, so they do not add up to the run's time.",
    )


def family_seconds_chart(study: Study, points: Sequence[Point]) -> Chart | None:
    """Return the seconds of profiler families for each point (Figs. 5 and 6)."""
    return _stacked_chart(
        study,
        points,
        (
            "family-seconds",
            "Profiled time by family, in seconds",
            Axis("Time in the window, sum over ranks", "s"),
        ),
        _seconds_marks,
        "As Figs. 5 and 6 of Lawenda et al. 2025: sums over all ranks, which work at the same "
        "time, so that they may exceed the window's length.",
    )


def _stacked_chart(
    study: Study,
    points: Sequence[Point],
    heading: tuple[str, str, Axis],
    marks: Callable[[Study, Sequence[Point], Sequence[Family]], Iterator[Mark]],
    caption: str,
) -> Chart | None:
    """Return a stack of the largest families for each point; `heading` is key, title and axis."""
    measured = [point for point in points if family_shares(point)]
    if not measured:
        return None
    key, title, value = heading
    drawn = largest_families(measured)
    return Chart(
        key=key,
        title=title,
        kind=ChartKind.STACKED_BARS,
        category=Axis("Point"),
        value=value,
        marks=tuple(marks(study, measured[:MOST_BARS], drawn)),
        series="Family",
        caption=with_rest(caption, measured),
    )


def _seconds_marks(
    study: Study, points: Sequence[Point], drawn: Sequence[Family]
) -> Iterator[Mark]:
    for point in points:
        seconds = _means(point, lambda statistics: statistics.total_seconds)
        calls = _means(point, lambda statistics: statistics.calls)
        for family in drawn:
            yield Mark(
                category=point.label(study.axes),
                value=seconds.get(family, 0.0),
                series=family.value,
                detail=(("Calls", format_number(calls.get(family, 0.0), 0)),),
            )


def family_shares(point: Point) -> dict[Family, float]:
    """Return each family's mean share of the profiled window."""
    return _means(point, lambda statistics: statistics.share)


def _means(point: Point, read: Callable[[FamilyStatistics], float]) -> dict[Family, float]:
    """Return a number of each family, its mean over the profiles of a point."""
    profiles = [result.profile.families for result in point.results if result.profile]
    names = {family for families in profiles for family in families}
    return {
        name: sum(read(families[name]) for families in profiles if name in families) / len(profiles)
        for name in names
    }


def largest_families(points: Sequence[Point]) -> list[Family]:
    """Return the families with the largest share at any point, in the order of the paper."""
    largest: dict[Family, float] = {}
    for point in points:
        for family, share in family_shares(point).items():
            largest[family] = max(share, largest.get(family, 0.0))
    chosen = sorted(largest, key=lambda family: -largest[family])[:MOST_FAMILIES]
    return [family for family in Family if family in chosen]


def _family_marks(study: Study, points: Sequence[Point], drawn: Sequence[Family]) -> Iterator[Mark]:
    for point in points:
        shares = family_shares(point)
        total = sum(shares.get(family, 0.0) for family in drawn)
        for family in drawn:
            share = shares.get(family, 0.0)
            if total > 0:
                of_window = f"{format_number(share * 100, 2)} %"
                yield Mark(
                    category=point.label(study.axes),
                    value=share / total * 100,
                    series=family.value,
                    detail=(("Of the window", of_window),),
                )
