"""Dashboards are what their code says, of Grafana's own form, and ask for metrics that exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from gpubench.telemetry.dashboards import dashboards
from gpubench.telemetry.rules import rule_groups
from scripts.panel_data import panels, targets
from tests.unit.chart.helm import of_kind, render

REPOSITORY = Path(__file__).parents[3]
FILES = REPOSITORY / "charts" / "gpubench" / "files" / "dashboards"
WRITTEN = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in FILES.iterdir()}
EVERY_DASHBOARD = pytest.mark.parametrize("dashboard", WRITTEN.values(), ids=WRITTEN)
GRID_COLUMNS = 24
OF_DCGM = {"gpubench_run_dcgm_coverage_ratio", "gpubench_run_dcgm_energy_joules"}
"""Told on a page of their own."""


def test_the_charts_dashboards_are_the_generated_ones() -> None:
    assert dashboards() == WRITTEN, "run: make generate"


@EVERY_DASHBOARD
def test_grafanas_own_models_read_and_write_it_unchanged(dashboard: dict[str, Any]) -> None:
    """What they do not know, they would drop."""
    register_default_plugins()
    text = json.dumps(Dashboard.from_json(dashboard), cls=JSONEncoder)
    assert json.loads(text) == dashboard


@EVERY_DASHBOARD
def test_panels_lie_beside_each_other_on_the_grid(dashboard: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= GRID_COLUMNS, panel["title"]
        cells = {
            (place["x"] + column, place["y"] + line)
            for column in range(place["w"])
            for line in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


@EVERY_DASHBOARD
def test_every_query_goes_to_the_chosen_prometheus(dashboard: dict[str, Any]) -> None:
    variables = dashboard["templating"]["list"]
    assert variables[0]["type"] == "datasource"
    chosen = {"type": "prometheus", "uid": "${datasource}"}
    for panel in panels(dashboard):
        assert panel["datasource"] == chosen
        assert all(target["datasource"] == chosen for target in panel["targets"])
    for variable in variables[1:]:
        assert variable["datasource"] == chosen


@EVERY_DASHBOARD
def test_every_variable_is_declared(dashboard: dict[str, Any]) -> None:
    declared = {variable["name"] for variable in dashboard["templating"]["list"]}
    text = json.dumps(dashboard)
    used = set(re.findall(r"\$([a-z][a-z_]*)", text)) | set(re.findall(r"\$\{([a-z]+)", text))
    assert used == declared


@EVERY_DASHBOARD
def test_titles_are_told_apart(dashboard: dict[str, Any]) -> None:
    titles = [panel["title"] for panel in dashboard["panels"]]
    assert len(set(titles)) == len(titles)


def documented_metrics() -> set[str]:
    """Return the metrics that docs/metrics.md names, short forms written out."""
    text = (REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8")
    found: set[str] = set()
    for line in text.splitlines():
        prefix = ""
        for name in re.findall(r"`([\w:]+)(?:\{\w+\})?`", line):
            if name.startswith(("gpubench_", "DCGM_")):
                found.add(name)
                prefix = re.sub(r"(?<=gpubench)(_[a-z]+).*", r"\1", name)
            elif name.startswith("_") and prefix:
                found |= {
                    prefix + name,
                    f"{prefix}_profile{name}",
                    f"{prefix}_profile_family{name}",
                }
            elif "gpubench_" in name:
                found.add(name)
    return found


def metrics_in(expression: str) -> Iterator[str]:
    without_labels = re.sub(r'"[^"]*"', "", expression)
    for name in re.findall(r"\b(?:\w+:)?gpubench_\w+(?::\w+)?", without_labels):
        yield re.sub(r"_(bucket|count)$", "", name) if "reconcile" in name else name


@EVERY_DASHBOARD
def test_every_metric_that_is_asked_for_is_documented(dashboard: dict[str, Any]) -> None:
    known = documented_metrics()
    asked = {
        name
        for panel in panels(dashboard)
        for target in targets(panel, {})
        for name in metrics_in(target.expression)
    }
    assert asked
    assert asked <= known


def test_every_metric_of_a_rule_is_documented() -> None:
    rules = [rule for group in rule_groups()["groups"] for rule in group["rules"]]
    asked = {name for rule in rules for name in metrics_in(rule["expr"])}
    assert asked <= documented_metrics() | OF_DCGM


def test_the_chart_ships_each_for_grafanas_sidecar() -> None:
    maps = [
        found
        for found in of_kind(render(), "ConfigMap")
        if found["metadata"]["labels"].get("grafana_dashboard") == "1"
    ]
    shipped = {name: json.loads(text) for m in maps for name, text in m["data"].items()}
    assert shipped == WRITTEN
    names = {found["metadata"]["name"] for found in maps}
    assert names == {f"gpubench-{Path(name).stem}" for name in WRITTEN}


def test_they_can_be_left_out_and_labelled_otherwise() -> None:
    off = render({"metrics": {"dashboards": {"enabled": False}}})
    assert "grafana_dashboard" not in str(off)
    labels = {"grafana_dashboard": None, "dashboards": "yes"}
    folder = {"grafana_folder": "gpubench"}
    some = render({"metrics": {"dashboards": {"labels": labels, "annotations": folder}}})
    found = [m for m in of_kind(some, "ConfigMap") if "dashboards" in m["metadata"]["labels"]]
    assert len(found) == len(WRITTEN)
    assert all(m["metadata"]["annotations"] == folder for m in found)


@pytest.mark.parametrize("module", ["gpubench.controller.main", "gpubench.cli.app"])
def test_nothing_that_runs_needs_the_sdk(module: str) -> None:
    code = f"import sys, {module}; sys.exit('grafana_foundation_sdk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
