"""Bars for each point: throughput, the phases of a step, and the shares of a profile's families."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpubench.analysis.columns import unit_text
from gpubench.analysis.metrics import THROUGHPUT
from gpubench.analysis.numerals import format_number
from gpubench.analysis.report import Axis, Chart, ChartKind, Mark
from gpubench.analysis.statistics import summarize
from gpubench.analysis.study import Point, Study
from gpubench.api.enums import Family
from gpubench.api.result import RunResult, StepPhases

# More bars than this are not read off but looked up, and the tables are there for that.
MOST_BARS = 32

# Beyond these a stack has slices that nobody can tell apart.
MOST_FAMILIES = 8

_PHASES: tuple[tuple[str, Callable[[StepPhases], float]], ...] = (
    ("Data", lambda phases: phases.data_seconds),
    ("Host to device", lambda phases: phases.host_to_device_seconds),
    ("Compute", lambda phases: phases.compute_seconds),
    ("Optimizer", lambda phases: phases.optimizer_seconds),
)


def throughput_chart(study: Study, points: Sequence[Point]) -> Chart | None:
    """Return the throughput of each point with its spread."""
    measured = [point for point in points if point.estimate(THROUGHPUT)]
    marks = tuple(_throughput_marks(study, measured[:MOST_BARS]))
    if len(marks) < 2:
        return None
    unit = unit_text(THROUGHPUT, study.input.benchmark.spec.workload.kind)
    return Chart(
        key="throughput",
        title="Throughput by point",
        kind=ChartKind.BARS,
        category=Axis("Point"),
        value=Axis("Throughput", unit),
        marks=marks,
        caption=_with_rest("Steady state, all ranks together.", measured),
    )


def _throughput_marks(study: Study, points: Sequence[Point]) -> Iterator[Mark]:
    for point in points:
        estimate = point.estimate(THROUGHPUT)
        if estimate:
            yield Mark(
                category=point.label(study.axes),
                value=estimate.mean,
                spread=estimate.std,
                detail=(("Valid runs", str(estimate.n)),),
            )


def phases_chart(study: Study, points: Sequence[Point]) -> Chart | None:
    """Return where a steady step's time goes, for each point."""
    measured = [point for point in points if any(map(_phases, point.results))]
    if not measured:
        return None
    return Chart(
        key="phases",
        title="A step by phase",
        kind=ChartKind.STACKED_BARS,
        category=Axis("Point"),
        value=Axis("Time per step", "ms"),
        marks=tuple(_phase_marks(study, measured[:MOST_BARS])),
        series="Phase",
        caption=_with_rest(
            "Mean of steady steps on rank 0. On a GPU, waiting for data overlaps with the others.",
            measured,
        ),
    )


def _phases(result: RunResult) -> StepPhases | None:
    return result.timing.phases if result.timing else None


def _phase_marks(study: Study, points: Sequence[Point]) -> Iterator[Mark]:
    for point in points:
        known = [phases for phases in map(_phases, point.results) if phases]
        for name, read in _PHASES:
            estimate = summarize(read(phases) * 1e3 for phases in known)
            if estimate:
                yield Mark(point.label(study.axes), estimate.mean, name)


def families_chart(study: Study, points: Sequence[Point]) -> Chart | None:
    """Return the shares of profiler families for each point (Fig. 3)."""
    measured = [point for point in points if family_shares(point)]
    if not measured:
        return None
    drawn = largest_families(measured)
    return Chart(
        key="families",
        title="Profiled time by family",
        kind=ChartKind.STACKED_BARS,
        category=Axis("Point"),
        value=Axis("Share of the families shown", "%"),
        marks=tuple(_family_marks(study, measured[:MOST_BARS], drawn)),
        series="Family",
        caption=_with_rest(
            "As Fig. 3 of Lawenda et al. 2025: the families shown add up to 100 %. Calls on the "
            "host overlap with work on the GPU, so they do not add up to the run's time.",
            measured,
        ),
    )


def family_shares(point: Point) -> dict[Family, float]:
    """Return each family's mean share of the profiled window."""
    profiles = [result.profile for result in point.results if result.profile]
    names = {family for profile in profiles for family in profile.families}
    return {
        family: sum(
            profile.families[family].share for profile in profiles if family in profile.families
        )
        / len(profiles)
        for family in names
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


def _with_rest(caption: str, points: Sequence[Point]) -> str:
    if len(points) <= MOST_BARS:
        return caption
    return f"{caption} {MOST_BARS} of {len(points)} points are drawn; the tables hold all of them."
