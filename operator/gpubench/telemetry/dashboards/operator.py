"""How the operator does."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from gpubench.telemetry.dashboards.frame import frame
from gpubench.telemetry.dashboards.panels import Query, Shape, row, stat_panel, time_panel


def _rate(metric: str) -> str:
    return f"rate(gpubench_operator_{metric}[$__rate_interval])"


def operator_dashboard() -> Dashboard:
    """Return the view of the operator's own health."""
    board = frame("gpubench-operator", "operator", "The operator: lead, pace, errors, requests.")
    leaders = "sum(gpubench_operator_leader) or vector(0)"
    age = "min(gpubench_operator_event_age_seconds and gpubench_operator_leader == 1)"
    board = board.with_row(row("Now"))
    for panel in (
        stat_panel("Leading", [Query(leaders, "replicas")], Shape(4, 4), "1 is right."),
        stat_panel(
            "Last event",
            [Query(age, "ago")],
            Shape(4, 4, "s", 0),
            "From any watch; on a quiet cluster nothing happens.",
        ),
        stat_panel(
            "Benchmarks",
            [Query("max by (phase) (gpubench_operator_benchmarks)", "{{phase}}")],
            Shape(8, 4),
        ),
        stat_panel(
            "Runs", [Query("max by (phase) (gpubench_operator_runs)", "{{phase}}")], Shape(8, 4)
        ),
    ):
        board = board.with_panel(panel)
    buckets = f"sum by (le) ({_rate('reconcile_seconds_bucket')})"
    paces = [
        Query(f"histogram_quantile({quantile}, {buckets})", name)
        for quantile, name in (("0.5", "median"), ("0.99", "99 % are faster"))
    ]
    board = board.with_row(row("Pace"))
    for curves in (
        time_panel("Reconciliation", paces, Shape(8, unit="s")),
        time_panel(
            "Reconciliations",
            [
                Query(f"sum({_rate('reconcile_seconds_count')})", "all"),
                Query(f"sum({_rate('reconcile_failures_total')})", "failed"),
            ],
            Shape(8, unit="ops"),
        ),
        time_panel(
            "Benchmarks that wait",
            [Query("sum(gpubench_operator_queue_depth)", "waiting")],
            Shape(8),
        ),
        time_panel(
            "Requests to the API server",
            [Query(f"sum by (verb) ({_rate('api_requests_total')})", "{{verb}}")],
            Shape(8, unit="reqps"),
        ),
        time_panel(
            "Refused, by HTTP status",
            [
                Query(f"sum by (status) ({_rate('api_errors_total')})", "{{status}}"),
                Query(f"sum({_rate('api_errors_total')}) or vector(0)", "all"),
            ],
            Shape(8, unit="reqps"),
            "0: the server was not reached.",
        ),
        time_panel(
            "Runs by phase",
            [Query("max by (phase) (gpubench_operator_runs)", "{{phase}}")],
            Shape(8),
            stacked=True,
        ),
    ):
        board = board.with_panel(curves)
    return board.build()
