"""A benchmark at a glance: progress, points, scaling, and the papers' figures."""

from __future__ import annotations

from collections.abc import Iterator

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from gpubench.telemetry.dashboards.frame import BENCHMARK, benchmark_variables, frame, several
from gpubench.telemetry.dashboards.panels import (
    Column,
    Query,
    Shape,
    bars_panel,
    curves_panel,
    row,
    stat_panel,
    table_panel,
    time_panel,
)
from gpubench.telemetry.rules.model import with_parameters
from gpubench.telemetry.rules.runs import (
    EFFICIENCY,
    ENERGY_PER_SAMPLE,
    OVERHEAD,
    PER_GPU,
    POINT_RATE,
    SPEEDUP,
)

PARAMETERS = {
    "point": "Point",
    "gpus": "GPUs",
    "strategy": "Strategy",
    "method": "Method",
    "precision": "Precision",
    "dataset": "Dataset",
    "image_size": "Image size",
    "batch_size": "Batch size",
    "pin_memory": "Pinned",
}
SERIES = ("strategy", "method", "precision", "dataset", "image_size", "pin_memory")
"""What tells curves apart."""
MOST_FAMILIES = 8
Panels = Builder[Panel]
PAPER = "Lawenda et al. 2025"


def sweep_dashboard() -> Dashboard:
    """Return the overview of a benchmark."""
    families = several(
        "family",
        "Families",
        f"label_values(gpubench_run_profile_family_seconds{{{BENCHMARK}}}, family)",
    )
    board = frame("gpubench-sweep", "sweep", "A benchmark: progress, points, scaling, profiles.")
    for choice in (*benchmark_variables(), families):
        board = board.with_variable(choice)
    board = board.with_row(row("Progress"))
    for panel in (*_numbers(), *_courses()):
        board = board.with_panel(panel)
    board = board.with_row(row("Point by point"))
    for shown in (_points(), *_curves()):
        board = board.with_panel(shown)
    board = board.with_row(row("Where the time went"))
    for bars in (*_figures(), *_windows()):
        board = board.with_panel(bars)
    return board.with_row(row("One by one")).with_panel(_runs()).build()


def _numbers() -> Iterator[Panels]:
    runs = f"gpubench_benchmark_runs{{{BENCHMARK}}}"
    finished = f'sum(gpubench_benchmark_runs{{{BENCHMARK}, phase=~"Succeeded|Invalid|Failed"}})'
    end = "gpubench_benchmark_estimated_completion_timestamp_seconds"
    ended = "gpubench_benchmark_completion_timestamp_seconds"
    small = Shape(width=4, height=4)
    yield stat_panel(
        "Finished", [Query(f"{finished} / sum({runs})")], Shape(4, 4, "percentunit", 0)
    )
    yield stat_panel("Runs", [Query(f"max by (phase) ({runs})", "{{phase}}")], Shape(8, 4))
    yield stat_panel(
        "Ends, or ended",
        [Query(f"1000 * max({end}{{{BENCHMARK}}} or {ended}{{{BENCHMARK}}})", "time")],
        Shape(4, 4, "dateTimeFromNow"),
        "An estimate while runs are left.",
    )
    yield stat_panel(
        "GPU time",
        [Query(f"sum(gpubench_run_gpu_seconds{{{BENCHMARK}}})", "all")],
        Shape(4, 4, "s"),
    )
    yield stat_panel(
        "Attempts beyond the first",
        [Query(f"sum(clamp_min(gpubench_run_attempts{{{BENCHMARK}}} - 1, 0))", "retries")],
        small,
    )


def _courses() -> Iterator[Panels]:
    runs = f"max by (phase) (gpubench_benchmark_runs{{{BENCHMARK}}})"
    live = f"max by (run) (gpubench_live_samples_per_second{{{BENCHMARK}}})"
    yield time_panel("Runs by phase", [Query(runs, "{{phase}}")], Shape(12), stacked=True)
    yield time_panel(
        "Throughput, live",
        [Query(live, "{{run}}")],
        Shape(12, unit="short"),
        "Trained samples per second of the runs that are under way, from their pods.",
    )


def _mean(metric: str) -> str:
    """Return the mean over a point's valid runs."""
    return f"avg by (point) ({with_parameters(metric, 'point')})"


def _points() -> Panels:
    labels = ", ".join(PARAMETERS)
    rows = f"max by ({labels}) (gpubench_run_info{{{BENCHMARK}}})"
    valid = f'count by (point) (gpubench_run_info{{{BENCHMARK}, validity="Valid"}})'
    columns = [
        Column("Valid runs", valid, decimals=0),
        Column("Samples/s", _mean(f"gpubench_run_samples_per_second{{{BENCHMARK}}}")),
        Column("per GPU", _mean(f"{PER_GPU}{{{BENCHMARK}}}")),
        Column(
            "Iteration",
            _mean(f'gpubench_run_iteration_seconds{{{BENCHMARK}, kind="mean"}}'),
            "s",
        ),
        Column("Total time", _mean(f"gpubench_run_training_seconds{{{BENCHMARK}}}"), "s"),
        Column("Accuracy", _mean(f"gpubench_run_accuracy_ratio{{{BENCHMARK}}}"), "percentunit"),
        Column("Efficiency", f"max by (point) ({EFFICIENCY}{{{BENCHMARK}}})", "percentunit"),
        Column("Overhead", f"max by (point) ({OVERHEAD}{{{BENCHMARK}}})", "percentunit"),
        Column("J/sample", _mean(f"{ENERGY_PER_SAMPLE}{{{BENCHMARK}}}"), decimals=2),
    ]
    return table_panel(
        "Points",
        (rows, PARAMETERS),
        columns,
        Shape(24, 10),
        "Means over the valid runs of each point. Efficiency: speed-up over GPUs, against the same "
        "point with one GPU. Overhead: of the profiler.",
    )


def _over_gpus(metric: str) -> str:
    """Return a number of points by GPUs, and by what else tells them apart."""
    of_point = "namespace, benchmark, point"
    labels = ", ".join(("gpus", *SERIES))
    info = f"max by ({of_point}, {labels}) (gpubench_run_info{{{BENCHMARK}}})"
    joined = f"{metric}{{{BENCHMARK}}} * on ({of_point}) group_left ({labels}) {info}"
    return f"avg by (gpus, setting) ({_setting(joined, SERIES)})"


def _setting(expression: str, labels: tuple[str, ...], separator: str = " ") -> str:
    """Return an expression with some labels joined into the label `setting`."""
    listed = ", ".join(f'"{label}"' for label in labels)
    return f'label_join({expression}, "setting", "{separator}", {listed})'


def _curves() -> Iterator[Panels]:
    by = ("gpus", "setting")
    yield curves_panel(
        "Samples per second by GPUs",
        _over_gpus(POINT_RATE),
        by,
        Shape(8, 9),
        f"Progress through the dataset. As Fig. 1 of {PAPER}.",
    )
    yield curves_panel(
        "Speed-up by GPUs",
        _over_gpus(SPEEDUP),
        by,
        Shape(8, 9),
        "Against the same point with one GPU.",
    )
    yield curves_panel(
        "Efficiency by GPUs",
        _over_gpus(EFFICIENCY),
        by,
        Shape(8, 9, "percentunit"),
        "Speed-up over GPUs: 100 % where N GPUs are N times as fast.",
    )


def _families(metric: str, labels: tuple[str, ...]) -> str:
    """Return the largest chosen families by a setting, each the mean over its runs."""
    chosen = f'{BENCHMARK}, family=~"$family"'
    seconds = f"max by (family) (gpubench_run_profile_family_seconds{{{chosen}}})"
    joined = with_parameters(f"{metric}{{{chosen}}}", ", ".join(labels))
    means = f"avg by (setting, family) ({_setting(joined, labels, ', ')})"
    return f"{means} and on (family) topk({MOST_FAMILIES}, {seconds})"


def _figures() -> Iterator[Panels]:
    by = ("setting", "family")
    share, seconds = (f"gpubench_run_profile_family_{n}" for n in ("share_ratio", "seconds"))
    yield bars_panel(
        "Family shares by GPUs, image size, pinned (Fig. 3)",
        _families(share, ("gpus", "image_size", "pin_memory")),
        by,
        Shape(24, 10, "percentunit"),
        f"As Fig. 3 of {PAPER}: the families shown add up to 100 %. Choose its four above.",
        StackingMode.PERCENT,
    )
    yield bars_panel(
        "Families by dataset, GPUs (Fig. 5)",
        _families(seconds, ("dataset", "gpus")),
        by,
        Shape(8, 10, "s"),
        f"Seconds in the window, all ranks. As Fig. 5 of {PAPER}.",
    )
    yield bars_panel(
        "Families by pinned, GPUs (Fig. 6, left)",
        _families(seconds, ("pin_memory", "gpus")),
        by,
        Shape(8, 10, "s"),
        f"Seconds in the window, all ranks. As Fig. 6 of {PAPER}, left.",
    )
    yield bars_panel(
        "Families by pinned, GPUs (Fig. 6, right)",
        _families(seconds, ("pin_memory", "gpus")),
        by,
        Shape(8, 10, "percentunit"),
        f"The same as shares of the families shown. As Fig. 6 of {PAPER}, right.",
        StackingMode.PERCENT,
    )


def _windows() -> Iterator[Panels]:
    for title, metric, text in (
        (
            "Profiler's overhead by GPUs",
            "gpubench_run_profile_overhead_ratio",
            "Profiled over unprofiled iteration time, minus 1.",
        ),
        (
            "GPU idle by GPUs",
            "gpubench_run_profile_idle_ratio",
            "Share of the window in which the GPU did nothing.",
        ),
    ):
        labels = ", ".join(("gpus", *SERIES))
        joined = with_parameters(f"{metric}{{{BENCHMARK}}}", labels)
        expression = f"avg by (gpus, setting) ({_setting(joined, SERIES)})"
        by = ("gpus", "setting")
        yield bars_panel(title, expression, by, Shape(12, 8, "percentunit"), text)


def _runs() -> Panels:
    labels = {"run": "Run", "gpus": "GPUs", "repetition": "Repetition", "validity": "Validity"}
    listed = ", ".join(labels)
    columns = [
        Column("Attempts", f"max by (run) (gpubench_run_attempts{{{BENCHMARK}}})", decimals=0),
        Column("GPU time", f"max by (run) (gpubench_run_gpu_seconds{{{BENCHMARK}}})", "s"),
        Column(
            "Failed gates", f"count by (run) (gpubench_run_gate_failed{{{BENCHMARK}}})", decimals=0
        ),
        Column("Samples/s", f"max by (run) (gpubench_run_samples_per_second{{{BENCHMARK}}})"),
    ]
    return table_panel(
        "Every run",
        (f"max by ({listed}) (gpubench_run_info{{{BENCHMARK}}})", labels),
        columns,
        Shape(24, 10),
        "Every run, valid or not; those that failed a gate have no numbers.",
    )
