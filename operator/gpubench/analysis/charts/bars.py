"""Bars for each point: throughput, and the phases of a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpubench.analysis.columns import unit_text
from gpubench.analysis.metrics import THROUGHPUT
from gpubench.analysis.report import Axis, Chart, ChartKind, Mark
from gpubench.analysis.statistics import summarize
from gpubench.analysis.study import Point, Study
from gpubench.api.result import RunResult, StepPhases

# More bars than this are not read off but looked up, and the tables are there for that.
MOST_BARS = 32

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
        caption=with_rest("Steady state, all ranks together.", measured),
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
        caption=with_rest(
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


def with_rest(caption: str, points: Sequence[Point]) -> str:
    """Return a caption that tells how many points are left out, if any."""
    if len(points) <= MOST_BARS:
        return caption
    return f"{caption} {MOST_BARS} of {len(points)} points are drawn; the tables hold all of them."
