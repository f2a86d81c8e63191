"""Recording rules and alerts for Prometheus, as code; the chart ships them as a PrometheusRule."""

from __future__ import annotations

from typing import Any

from gpubench.telemetry.rules.alerts import ALERTS
from gpubench.telemetry.rules.gpus import GPU_RULES
from gpubench.telemetry.rules.runs import RUN_RULES

INTERVAL = "15s"


def rule_groups() -> dict[str, Any]:
    """Return all rules in the form of a Prometheus rule file."""
    groups = (("runs", RUN_RULES), ("gpus", GPU_RULES), ("alerts", ALERTS))
    return {
        "groups": [
            {
                "name": f"gpubench-{name}",
                "interval": INTERVAL,
                "rules": [rule.to_json() for rule in rules],
            }
            for name, rules in groups
        ]
    }
