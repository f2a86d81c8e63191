"""What the panels of a dashboard show: their queries with variables filled in, and the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

RATE_INTERVAL = "1m"
"""What Grafana makes of $__rate_interval where scrapes are 15 s apart: four of them."""


@dataclass(frozen=True)
class Series:
    """A series of an answer: its labels, and values by time in seconds since the epoch."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]

    @property
    def value(self) -> float:
        """The last value."""
        return self.points[-1][1]


@dataclass(frozen=True)
class Target:
    """One query of a panel."""

    ref: str
    expression: str
    legend: str
    is_instant: bool


@dataclass(frozen=True)
class Window:
    """The time that a dashboard shows, in seconds since the epoch."""

    start: float
    end: float
    step: float = 15.0


class QueryError(RuntimeError):
    """Prometheus refused a query."""


class PrometheusApi:
    """A Prometheus that is asked as Grafana asks it."""

    def __init__(self, address: str) -> None:
        """Ask the server at an address such as http://127.0.0.1:9090."""
        self._address = address.rstrip("/")

    def answer(self, target: Target, window: Window) -> list[Series]:
        """Return the series of a query.

        Raises:
            QueryError: it is not a query, or cannot be answered.
        """
        if target.is_instant:
            found = self._get("query", query=target.expression, time=window.end)
            return [Series(s["metric"], (_point(s["value"]),)) for s in found]
        times = {"start": window.start, "end": window.end, "step": window.step}
        found = self._get("query_range", query=target.expression, **times)
        return [Series(s["metric"], tuple(map(_point, s["values"]))) for s in found]

    def _get(self, what: str, **parameters: object) -> list[dict[str, Any]]:
        url = f"{self._address}/api/v1/{what}?{urlencode(parameters)}"
        try:
            with urlopen(url, timeout=60) as reply:  # noqa: S310 - an address that a person gave
                result: list[dict[str, Any]] = json.load(reply)["data"]["result"]
                return result
        except OSError as error:
            body = error.read().decode() if hasattr(error, "read") else str(error)
            msg = f"{parameters.get('query')}: {body}"
            raise QueryError(msg) from None


def panels(dashboard: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the panels that show data, in their order."""
    yield from (panel for panel in dashboard["panels"] if panel["type"] != "row")


def targets(panel: Mapping[str, Any], variables: Mapping[str, str]) -> list[Target]:
    """Return a panel's queries, its variables filled in."""
    return [
        Target(
            ref=target["refId"],
            expression=fill_in(target["expr"], variables),
            legend=target.get("legendFormat", ""),
            is_instant=bool(target.get("instant")),
        )
        for target in panel["targets"]
    ]


def fill_in(expression: str, variables: Mapping[str, str]) -> str:
    """Return an expression with values for its variables; what nobody chose is all."""
    for name, value in {**variables, "__rate_interval": RATE_INTERVAL}.items():
        expression = expression.replace(f"${name}", value)
    for everything in ("family", "node"):
        expression = expression.replace(f"${everything}", ".*")
    return expression


def series_name(series: Series, legend: str) -> str:
    """Return how Grafana calls a series: its legend with labels filled in."""
    if legend == "__auto":
        return " ".join(f"{k}={v}" for k, v in series.labels.items() if k != "__name__")
    for label, value in series.labels.items():
        legend = legend.replace(f"{{{{{label}}}}}", value)
    return legend


def _point(pair: tuple[float, str]) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])
