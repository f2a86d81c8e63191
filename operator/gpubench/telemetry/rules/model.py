"""What a rule is, and the expressions that several rules are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BENCHMARK = "namespace, benchmark"
RUN = f"{BENCHMARK}, run"
RUNBOOKS = "docs/alerts.md"
"""Where runbooks are; the chart puts `metrics.rules.runbooks` in its place."""


@dataclass(frozen=True)
class Recording:
    """An expression that Prometheus evaluates ahead, under a name."""

    record: str
    expression: str

    def to_json(self) -> dict[str, Any]:
        """Return the rule as Prometheus reads it."""
        return {"record": self.record, "expr": self.expression}


@dataclass(frozen=True)
class Alert:
    """Something that a person should look at."""

    name: str
    expression: str
    wait: str
    """How long it must hold."""
    severity: str
    summary: str
    description: str

    def to_json(self) -> dict[str, Any]:
        """Return the rule as Prometheus reads it; its runbook is a section of `RUNBOOKS`."""
        return {
            "alert": self.name,
            "expr": self.expression,
            "for": self.wait,
            "labels": {"severity": self.severity},
            "annotations": {
                "summary": self.summary,
                "description": self.description,
                "runbook_url": f"{RUNBOOKS}#{self.name.lower()}",
            },
        }


def of_run(metric: str) -> str:
    """Return a metric of runs without the labels of who exported it.

    For a moment after a restart of the operator there are two of each.
    """
    return f"max by ({RUN}) ({metric})"


def with_parameters(expression: str, parameters: str) -> str:
    """Return an expression over runs with some of their parameters as labels."""
    info = f"max by ({RUN}, {parameters}) (gpubench_run_info)"
    return f"{expression} * on ({RUN}) group_left ({parameters}) {info}"
