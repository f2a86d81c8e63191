"""One run in depth: how it goes, what its GPUs did meanwhile, and where its time went."""

from __future__ import annotations

from collections.abc import Iterator

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from gpubench.telemetry.dashboards.frame import (
    BENCHMARK,
    RUN,
    SOURCE,
    benchmark_variables,
    frame,
    variable,
)
from gpubench.telemetry.dashboards.panels import (
    Column,
    Query,
    Shape,
    bars_panel,
    row,
    stat_panel,
    table_panel,
    time_panel,
)
from gpubench.telemetry.rules.gpus import READINGS

Panels = Builder[Panel]
DCGM_LABELS = {"number": "Number", "kind": "Kind"}
TITLES = {
    "utilization:ratio": ("GPU busy", "percentunit"),
    "sm_active:ratio": ("Multiprocessors active", "percentunit"),
    "tensor_active:ratio": ("Tensor cores active", "percentunit"),
    "dram_active:ratio": ("Memory active", "percentunit"),
    "memory_used:bytes": ("Memory used", "bytes"),
    "power:watts": ("Power", "watt"),
    "temperature:celsius": ("Temperature", "celsius"),
    "sm_clock:hertz": ("Clock of the multiprocessors", "hertz"),
    "pcie_receive:bytes_per_second": ("PCIe, received", "Bps"),
    "pcie_transmit:bytes_per_second": ("PCIe, sent", "Bps"),
    "nvlink_receive:bytes_per_second": ("NVLink, received", "Bps"),
    "nvlink_transmit:bytes_per_second": ("NVLink, sent", "Bps"),
}


def run_dashboard() -> Dashboard:
    """Return the view of one run."""
    runs = variable("run", "Run", f"label_values(gpubench_run_info{{{BENCHMARK}}}, run)")
    running = f'max by (run) (gpubench_run_phase{{{RUN}, phase="Running"}})'
    while_running = builders.AnnotationQuery().name("running").datasource(SOURCE).expr(running)
    board = frame("gpubench-run", "one run", "A run: live, its GPUs, its profile.")
    for choice in (*benchmark_variables(), runs):
        board = board.with_variable(choice)
    board = board.annotation(while_running.enable(True).icon_color("blue"))
    for title, panels in (
        ("The run", _state()),
        ("Live, from its pod", _live()),
        ("Its GPUs meanwhile, from DCGM", _gpus()),
        ("What it came to", _results()),
        ("Where its time went", _profile()),
    ):
        board = board.with_row(row(title))
        for panel in panels:
            board = board.with_panel(panel)
    return board.build()


def _state() -> Iterator[Panels]:
    phase = f"max by (phase) (gpubench_run_phase{{{RUN}}})"
    yield stat_panel("Phase", [Query(phase, "{{phase}}")], Shape(4, 4), named=True)
    yield stat_panel(
        "Attempts", [Query(f"max(gpubench_run_attempts{{{RUN}}})", "attempts")], Shape(4, 4)
    )
    yield stat_panel("GPUs", [Query(f"max(gpubench_run_gpus{{{RUN}}})", "GPUs")], Shape(4, 4))
    start, end = (
        f"max(gpubench_run_{name}_timestamp_seconds{{{RUN}}})" for name in ("start", "completion")
    )
    yield stat_panel("Started", [Query(f"1000 * {start}", "time")], Shape(4, 4, "dateTimeAsIso"))
    yield stat_panel(
        "Took, or takes so far",
        [Query(f"({end} or vector(time())) - {start}", "time")],
        Shape(4, 4, "s", 0),
    )
    failed = f"max by (gate) (gpubench_run_gate_failed{{{RUN}}})"
    yield stat_panel(
        "Failed gates",
        [Query(f"count({failed}) or vector(0)", "failed")],
        Shape(4, 4),
        "Of them only Profile leaves a result valid.",
    )


def _live() -> Iterator[Panels]:
    def live(name: str) -> str:
        return f"max(gpubench_live_{name}{{{RUN}}})"

    steps = [Query(live("step"), "done"), Query(live("planned_steps"), "planned")]
    yield time_panel("Steps", steps, Shape(6))
    yield time_panel(
        "Throughput", [Query(live("samples_per_second"), "samples per second")], Shape(6)
    )
    yield time_panel(
        "Iteration", [Query(live("iteration_seconds"), "seconds per step")], Shape(6, unit="s")
    )
    yield time_panel("Loss", [Query(live("loss"), "training loss")], Shape(6))
    yield time_panel(
        "Stage",
        [Query(f"max by (stage) (gpubench_live_stage{{{RUN}}})", "{{stage}}")],
        Shape(24, 5),
        "1 while the attempt is in that stage.",
    )


def _gpus() -> Iterator[Panels]:
    for reading in READINGS:
        title, unit = TITLES[reading.name]
        expression = f"max by (gpu) ({reading.record}{{{RUN}}})"
        yield time_panel(title, [Query(expression, "GPU {{gpu}}")], Shape(6, 7, unit))
    yield table_panel(
        "DCGM's numbers of the run",
        (
            f"max by ({', '.join(DCGM_LABELS)})"
            f' (label_replace({{__name__=~"gpubench_run_dcgm_.+", {RUN}}}, '
            '"number", "$1", "__name__", "gpubench_run_dcgm_(.+)"))',
            DCGM_LABELS,
        ),
        [],
        Shape(24, 8),
        "Over its training window; coverage is samples got over samples expected.",
    )


def _results() -> Iterator[Panels]:
    iteration = f"max by (kind) (gpubench_run_iteration_seconds{{{RUN}}})"
    yield stat_panel("A steady step", [Query(iteration, "{{kind}}")], Shape(10, 5, "s"))
    rate = f"max(gpubench_run_samples_per_second{{{RUN}}})"
    yield stat_panel("Samples per second", [Query(rate, "rate")], Shape(4, 5))
    accuracy = f"max(gpubench_run_accuracy_ratio{{{RUN}}})"
    yield stat_panel("Accuracy", [Query(accuracy, "accuracy")], Shape(4, 5, "percentunit"))
    memory = f"max by (rank) (gpubench_run_peak_memory_bytes{{{RUN}}})"
    yield stat_panel("Peak memory", [Query(memory, "rank {{rank}}")], Shape(6, 5, "bytes"))


def _profile() -> Iterator[Panels]:
    def family(name: str) -> str:
        return f"max by (family) (gpubench_run_profile_family_{name}{{{RUN}}})"

    parts = [
        Query(f"max(gpubench_run_{name}_seconds{{{RUN}}})", name)
        for name in ("setup", "training", "evaluation")
    ]
    yield stat_panel("Parts of the attempt", parts, Shape(12, 5, "s"))
    for title, name in (("Profiler's overhead", "overhead"), ("GPU idle", "idle")):
        ratio = f"max(gpubench_run_profile_{name}_ratio{{{RUN}}})"
        yield stat_panel(title, [Query(ratio, name)], Shape(4, 5, "percentunit"))
    window = f"gpubench_run_profile_window_seconds{{{RUN}}}"
    profiler = "group_left (source) gpubench_run_profile_info"
    source = f"max by (source) ({window} * on (namespace, benchmark, run) {profiler})"
    yield stat_panel("Profiled window", [Query(source, "{{source}}")], Shape(4, 5, "s"))
    setting = f'label_replace({family("seconds")}, "window", "window", "", "")'
    yield bars_panel(
        "Families",
        setting,
        ("window", "family"),
        Shape(10, 10, "s"),
        "Seconds in the window, all ranks.",
    )
    yield table_panel(
        "Families in numbers",
        (family("calls"), {"family": "Family"}),
        [
            Column("Calls", family("calls"), decimals=0),
            Column("Seconds", family("seconds"), "s", 3),
            Column("Share of the window", family("share_ratio"), "percentunit"),
        ],
        Shape(14, 10),
    )
