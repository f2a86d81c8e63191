"""Alerts. Each has a runbook of its name in docs/alerts.md."""

from __future__ import annotations

from gpubench.telemetry.rules.model import BENCHMARK, RUN, Alert, of_run

STALLED_SHARE = "0.5"
"""Of the time without a step after which the supervisor gives an attempt up."""
LEAST_COVERAGE = "0.9"
SPENT_SHARE = "0.75"
"""Of the failure budget."""
DAY = "86400"

_RUN = "{{ $labels.namespace }}/{{ $labels.run }}"
_BENCHMARK = "{{ $labels.namespace }}/{{ $labels.benchmark }}"


def _lately(expression: str) -> str:
    """Return an expression over finished runs, for a day after their end."""
    ended = of_run("gpubench_run_completion_timestamp_seconds")
    return f"({expression}) and on ({RUN}) (time() - {ended} < {DAY})"


_FAILED_RUNS = f'max by ({BENCHMARK}) (gpubench_benchmark_runs{{phase="Failed"}})'
_BUDGET = f"max by ({BENCHMARK}) (gpubench_benchmark_failure_budget)"
_RUNNING = f'max by ({BENCHMARK}) (gpubench_benchmark_phase{{phase="Running"}})'

ALERTS = (
    Alert(
        "GPUBenchRunStalled",
        f"time() - {of_run('gpubench_live_progress_timestamp_seconds')}"
        f" > on ({RUN}) {STALLED_SHARE} * {of_run('gpubench_live_no_progress_limit_seconds')}",
        wait="1m",
        severity="warning",
        summary=f"{_RUN} makes no progress",
        description="No step has finished for {{ $value | humanizeDuration }}; the attempt is "
        "given up at the limit of its benchmark.",
    ),
    Alert(
        "GPUBenchLiveMetricsMissing",
        f'max by ({RUN}) (gpubench_run_phase{{phase="Running"}})'
        f" unless on ({RUN}) {of_run('gpubench_live_attempt')}"
        # Where nobody scrapes pods, nothing is missing.
        " and on () count(last_over_time(gpubench_live_attempt[1d])) > 0",
        wait="5m",
        severity="info",
        summary=f"{_RUN} runs, but its pod is not scraped",
        description="The operator says that it is running, and Prometheus has none of its live "
        "metrics.",
    ),
    Alert(
        "GPUBenchTelemetryGap",
        _lately(f"{of_run('gpubench_run_dcgm_coverage_ratio')} < {LEAST_COVERAGE}"),
        wait="0m",
        severity="warning",
        summary=f"DCGM has gaps in {_RUN}",
        description="Only {{ $value | humanizePercentage }} of the expected DCGM samples were got "
        "while it ran; its energy and utilisation are less certain for it.",
    ),
    Alert(
        "GPUBenchProfileMissing",
        _lately(f'max by ({RUN}) (gpubench_run_gate_failed{{gate="Profile"}})'),
        wait="0m",
        severity="warning",
        summary=f"{_RUN} has no whole profile",
        description="A profile was asked for, and it is missing or partial. The training result "
        "stands.",
    ),
    Alert(
        "GPUBenchFailureBudgetNearlySpent",
        f"{_FAILED_RUNS} / {_BUDGET} >= {SPENT_SHARE} and {_RUNNING} == 1",
        wait="0m",
        severity="warning",
        summary=f"{_BENCHMARK} will soon be given up",
        description="{{ $value | humanizePercentage }} of its failure budget is spent; one failed "
        "run more than it allows ends the benchmark.",
    ),
    Alert(
        "GPUBenchOperatorAbsent",
        "absent(gpubench_operator_leader == 1)",
        wait="5m",
        severity="critical",
        summary="No gpubench operator acts",
        description="No replica holds the lease, or none is scraped: no run is started, judged or "
        "recorded. Pods that run go on.",
    ),
    Alert(
        "GPUBenchOperatorStale",
        "sum(max without (phase) (gpubench_operator_leader == 1)) > 0"
        " and on () sum(gpubench_operator_benchmarks) > 0"
        " and on () sum(increase(gpubench_operator_reconcile_seconds_count[10m])) == 0",
        wait="5m",
        severity="critical",
        summary="The gpubench operator has stopped reconciling",
        description="It leads and has benchmarks, but has looked at none of them for ten minutes.",
    ),
    Alert(
        "GPUBenchReconcileFailing",
        "sum(increase(gpubench_operator_reconcile_failures_total[10m]))"
        " > 0.5 * sum(increase(gpubench_operator_reconcile_seconds_count[10m]))",
        wait="5m",
        severity="warning",
        summary="Reconciliations of the gpubench operator fail",
        description="More than half of them end with an error of the API server and are tried "
        "again.",
    ),
)
