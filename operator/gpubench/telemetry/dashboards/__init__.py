"""Grafana dashboards as code; `make generate` writes them into the chart.

Made with grafana-foundation-sdk, of the `dev` group: nothing that runs imports this package.
"""

from __future__ import annotations

import json
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder

from gpubench.telemetry.dashboards.gpus import gpus_dashboard
from gpubench.telemetry.dashboards.operator import operator_dashboard
from gpubench.telemetry.dashboards.run import run_dashboard
from gpubench.telemetry.dashboards.sweep import sweep_dashboard


def dashboards() -> dict[str, dict[str, Any]]:
    """Return every dashboard as Grafana reads it, by its file's name."""
    made = (sweep_dashboard(), run_dashboard(), gpus_dashboard(), operator_dashboard())
    return {
        f"{dashboard.uid}.json": json.loads(json.dumps(dashboard, cls=JSONEncoder))
        for dashboard in made
    }
