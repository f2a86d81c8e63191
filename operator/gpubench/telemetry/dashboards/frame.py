"""What every dashboard has: its data source, variables, links and time."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.models import dashboard as models

SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
TAG = "gpubench"

BENCHMARK = 'namespace="$namespace", benchmark="$benchmark"'
"""Selector of everything of the chosen benchmark."""
RUN = f'{BENCHMARK}, run="$run"'
"""Selector of everything of the chosen run."""


def frame(uid: str, title: str, description: str) -> builders.Dashboard:
    """Return a dashboard without panels."""
    links = builders.DashboardLink("gpubench").type(models.DashboardLinkType.DASHBOARDS)
    source = builders.DatasourceVariable("datasource").label("Prometheus").type("prometheus")
    return (
        builders.Dashboard(f"gpubench: {title}")
        .uid(uid)
        .description(description)
        .tags([TAG])
        .timezone("browser")
        .time("now-3h", "now")
        .refresh("30s")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .link(links.tags([TAG]).as_dropdown(True).include_vars(True).keep_time(True))
        .with_variable(source)
    )


def variable(name: str, label: str, query: str) -> builders.QueryVariable:
    """Return a choice of one value among those that Prometheus knows."""
    return (
        builders.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query(query)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
    )


def several(name: str, label: str, query: str) -> builders.QueryVariable:
    """Return a choice of any number of values, at first all."""
    everything = models.VariableOption(selected=True, text="All", value="$__all")
    chosen = variable(name, label, query).multi(True).include_all(True)
    return chosen.all_value(".*").current(everything)


def benchmark_variables() -> list[builders.QueryVariable]:
    """Return the choices of namespace and benchmark."""
    return [
        variable("namespace", "Namespace", "label_values(gpubench_run_info, namespace)"),
        variable(
            "benchmark",
            "Benchmark",
            'label_values(gpubench_run_info{namespace="$namespace"}, benchmark)',
        ),
    ]
