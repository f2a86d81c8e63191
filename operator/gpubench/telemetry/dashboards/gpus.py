"""Nodes and GPUs, whoever uses them: what dcgm-exporter serves, and which run has what."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from gpubench.telemetry.dashboards.frame import frame, several
from gpubench.telemetry.dashboards.panels import (
    Column,
    Query,
    Shape,
    row,
    stat_panel,
    table_panel,
    time_panel,
)
from gpubench.telemetry.rules.gpus import LARGEST

NODES = 'Hostname=~"$node"'
LEGEND = "{{Hostname}} {{gpu}}"
OWNERS = {
    "UUID": "UUID",
    "gpu": "GPU",
    "namespace": "Namespace",
    "benchmark": "Benchmark",
    "run": "Run",
}
FIELDS = (
    ("GPU busy", "DCGM_FI_DEV_GPU_UTIL", "percent", "1"),
    ("Multiprocessors active", "DCGM_FI_PROF_SM_ACTIVE", "percentunit", "1"),
    ("Memory used", "DCGM_FI_DEV_FB_USED", "bytes", "1048576"),
    ("Power", "DCGM_FI_DEV_POWER_USAGE", "watt", "1"),
    ("Temperature", "DCGM_FI_DEV_GPU_TEMP", "celsius", "1"),
    ("Clock of the multiprocessors", "DCGM_FI_DEV_SM_CLOCK", "hertz", "1000000"),
    ("PCIe, received", "DCGM_FI_PROF_PCIE_RX_BYTES", "Bps", "1"),
    ("PCIe, sent", "DCGM_FI_PROF_PCIE_TX_BYTES", "Bps", "1"),
    ("Last XID error", "DCGM_FI_DEV_XID_ERRORS", "short", "1"),
)


def gpus_dashboard() -> Dashboard:
    """Return the view of nodes and GPUs."""
    nodes = several("node", "Nodes", "label_values(DCGM_FI_DEV_GPU_UTIL, Hostname)")
    board = frame("gpubench-gpus", "nodes and GPUs", "GPUs by node, and which run has which.")
    busy = f"DCGM_FI_DEV_GPU_UTIL{{{NODES}}}"
    board = (
        board.with_variable(nodes)
        .with_row(row("Now"))
        .with_panel(stat_panel("GPUs", [Query(f"count({busy})", "GPUs")], Shape(4, 4)))
        .with_panel(
            stat_panel("Busy", [Query(f"avg({busy}) / 100", "busy")], Shape(4, 4, "percentunit", 0))
        )
        .with_panel(
            stat_panel(
                "Power of all",
                [Query(f"sum(DCGM_FI_DEV_POWER_USAGE{{{NODES}}} < {LARGEST})", "power")],
                Shape(4, 4, "watt"),
            )
        )
        .with_panel(
            stat_panel(
                "GPUs with runs",
                [Query("count(gpu:gpubench_utilization:ratio)", "GPUs")],
                Shape(4, 4),
            )
        )
        .with_panel(
            time_panel(
                "Running runs by node",
                [Query("count by (node) (max by (node, run) (gpubench_run_pod_info))", "{{node}}")],
                Shape(8, 4),
            )
        )
        .with_panel(
            table_panel(
                "Which run has which GPU",
                (f"max by ({', '.join(OWNERS)}) (gpu:gpubench_utilization:ratio)", OWNERS),
                [Column("Busy", "max by (UUID) (gpu:gpubench_utilization:ratio)", "percentunit")],
                Shape(24, 7),
                "By pod, else by UUID; a GPU that runs share by UUID only is left out.",
            )
        )
        .with_row(row("By GPU"))
    )
    for title, field, unit, factor in FIELDS:
        expression = f"({field}{{{NODES}}} < {LARGEST}) * {factor}"
        board = board.with_panel(time_panel(title, [Query(expression, LEGEND)], Shape(8, 7, unit)))
    return board.build()
