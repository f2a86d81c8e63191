"""The results in the paper's form: time, accuracy, and speed against baselines."""

from __future__ import annotations

from collections.abc import Sequence

from gpubench.analysis.columns import (
    FilledColumn,
    assemble,
    axis_columns,
    derived_column,
    metric_column,
    runs_column,
    text_column,
    with_words,
)
from gpubench.analysis.comparisons import (
    SPEED_UP,
    Comparison,
    comparisons_of,
    parallel_efficiencies,
    relative_speeds,
    speed_basis,
)
from gpubench.analysis.metrics import (
    ACCURACY,
    EPOCH_ESTIMATE,
    FINAL_LOSS,
    PROGRESS_RATE,
    RESOURCE_METRICS,
    SPEED_METRICS,
    TOTAL_TIME,
    Metric,
    Unit,
)
from gpubench.analysis.numerals import format_clock
from gpubench.analysis.report import Align, Block, Column, Note, Section, Table, Tone
from gpubench.analysis.statistics import Estimate, scale
from gpubench.analysis.study import DeviceModel, Point, Study
from gpubench.api.enums import WorkloadKind

# Below ten minutes seconds are read faster than h:mm:ss.
CLOCK_FROM_SECONDS = 600


def results_sections(study: Study) -> list[Section]:
    """Return one section of result tables for each device; the first has the explanations."""
    measured = [device for device in study.devices if _has_results(study, device)]
    if not measured:
        return [Section("results", "Results", (Note(_nothing(study), Tone.WARNING),))]
    return [
        _device_section(study, device, alone=len(measured) == 1, number=number)
        for number, device in enumerate(measured, start=1)
    ]


def _nothing(study: Study) -> str:
    if not study.input.runs:
        return "There are no runs yet, so there is nothing to show."
    return "No run has a valid result, so there are no numbers to show; see what went wrong below."


def _has_results(study: Study, device: DeviceModel) -> bool:
    return any(point.results for point in study.points_on(device))


def _device_section(study: Study, device: DeviceModel, *, alone: bool, number: int) -> Section:
    points = study.points_on(device)
    suffix = "" if alone else f"-{number}"
    tables: list[Block] = [
        table
        for table in (
            _time_table(study, points, suffix),
            _speed_table(study, points, suffix),
            _resource_table(study, points, suffix),
        )
        if table
    ]
    return Section(
        key=f"results{suffix}",
        title="Results" if alone else f"Results on {device.label}",
        intro="" if alone else "Devices are never averaged or compared with one another.",
        blocks=tuple(tables),
    )


def _kind(study: Study) -> WorkloadKind:
    return study.input.benchmark.spec.workload.kind


def _lead_columns(study: Study, points: Sequence[Point]) -> list[FilledColumn | None]:
    return [*_point_columns(study, points), runs_column(points)]


def _point_columns(study: Study, points: Sequence[Point]) -> list[FilledColumn]:
    """Return the columns of axes; the points are of one device."""
    parameters = [point.parameters for point in points]
    return axis_columns(parameters, study.axes, on_cpu=points[0].is_on_cpu)


def _time_table(study: Study, points: Sequence[Point], suffix: str) -> Table:
    comparisons = comparisons_of(points, study.axes)
    table = assemble(
        f"time{suffix}",
        "Total time and accuracy" if _kind(study) is WorkloadKind.IMAGE_RECOGNITION else "Time",
        [
            *_lead_columns(study, points),
            metric_column(points, TOTAL_TIME, _kind(study)),
            _clock_column(points, TOTAL_TIME),
            metric_column(points, EPOCH_ESTIMATE, _kind(study)),
            _clock_column(points, EPOCH_ESTIMATE),
            metric_column(points, _quality_metric(points), _kind(study)),
            *(_comparison_column(points, comparison) for comparison in comparisons),
        ],
    )
    return with_words(table, notes=_time_notes(points, comparisons))


def _quality_metric(points: Sequence[Point]) -> Metric:
    """Return accuracy, the papers' measure of quality, or the loss where nothing is classified."""
    return ACCURACY if any(point.estimate(ACCURACY) for point in points) else FINAL_LOSS


def _clock_column(points: Sequence[Point], metric: Metric) -> FilledColumn | None:
    times = [point.estimate(metric) for point in points]
    if max((time.mean for time in times if time), default=0) < CLOCK_FROM_SECONDS:
        return None
    texts = [format_clock(time.mean) if time else "" for time in times]
    return text_column(f"{metric.key}.clock", "h:mm:ss", texts, align=Align.RIGHT)


def _comparison_column(points: Sequence[Point], comparison: Comparison) -> FilledColumn | None:
    column = Column(
        f"comparedTo.{comparison.parameter}",
        comparison.title(on_cpu=points[0].is_on_cpu),
        unit="%",
        description="Speed in percent of the point that differs in this parameter only.",
    )
    compare = relative_speeds(points, comparison)
    return derived_column(column, points, lambda point: _percent(compare(point)), Unit.PERCENT)


def _percent(ratio: Estimate | None) -> Estimate | None:
    return scale(ratio, 100) if ratio else None


def _time_notes(points: Sequence[Point], comparisons: Sequence[Comparison]) -> list[str]:
    notes = []
    is_by_time = speed_basis(points[0]).is_time
    if any(len(point.results) > 1 for point in points):
        notes.append(
            "± is the sample standard deviation over valid repetitions (n - 1); that of a ratio "
            "is propagated from both. A point with one valid run has none. With n = 3, the "
            "95\N{NO-BREAK SPACE}% interval of a mean is ± 2.5 times that, with n = 5 "
            "± 1.2 times (Student's t)."
        )
    if SPEED_UP in comparisons:
        basis = "time over the time on N" if is_by_time else "speed under that on N"
        notes.append(
            f"{SPEED_UP.title(on_cpu=points[0].is_on_cpu)}: its {basis} in percent; the paper "
            "heads this column “Efficiency compare to 1 GPU”. Perfect would be N times "
            "100\N{NO-BREAK SPACE}%."
        )
    if any(comparison != SPEED_UP for comparison in comparisons):
        notes.append(
            "Each comparison is with the point that is equal in every other parameter, on the "
            "same device; — stands for the baseline itself and where that point has no valid run."
        )
    if not is_by_time:
        notes.append(
            "Runs that stop after a number of steps are compared by dataset samples per second, "
            "because more GPUs do more work in the same number of steps."
        )
    return notes


def _speed_table(study: Study, points: Sequence[Point], suffix: str) -> Table | None:
    metrics = [metric for metric in SPEED_METRICS if _is_worth_showing(metric, points)]
    columns = [metric_column(points, metric, _kind(study)) for metric in metrics]
    if not any(columns):
        return None
    return assemble(
        f"speed{suffix}",
        "Speed and scaling" if _scaling_columns(points) else "Speed",
        [*_lead_columns(study, points), *columns, *_scaling_columns(points)],
    )


def _is_worth_showing(metric: Metric, points: Sequence[Point]) -> bool:
    """Leave dataset progress out where it is the throughput, that is unless ranks share samples."""
    if metric is not PROGRESS_RATE:
        return True
    rates = [result.throughput for point in points for result in point.results if result.throughput]
    return any(
        abs(rate.dataset_samples_per_second - rate.samples_per_second)
        > 0.005 * rate.samples_per_second
        for rate in rates
    )


def _scaling_columns(points: Sequence[Point]) -> list[FilledColumn | None]:
    """Return speed-up and parallel efficiency where more than one GPU can be compared with one."""
    if SPEED_UP not in comparisons_of(points, [SPEED_UP.parameter]):
        return []
    efficiency = parallel_efficiencies(points)
    return [
        derived_column(
            Column("speedUp", "Speed-up", unit="×", description="Time on one over time on N."),
            points,
            relative_speeds(points, SPEED_UP),
            Unit.FACTOR,
        ),
        derived_column(
            Column(
                "parallelEfficiency",
                "Parallel efficiency",
                unit="%",
                description="Speed-up over N.",
            ),
            points,
            lambda point: _percent(efficiency(point)),
            Unit.PERCENT,
        ),
    ]


def _resource_table(study: Study, points: Sequence[Point], suffix: str) -> Table | None:
    columns = [metric_column(points, metric, _kind(study)) for metric in RESOURCE_METRICS]
    if not any(columns):
        return None
    lead = _point_columns(study, points)
    return assemble(f"resources{suffix}", "Resources and set-up", [*lead, *columns])
