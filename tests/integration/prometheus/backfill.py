"""A real Prometheus whose past is written down beforehand, its rules evaluated over all of it."""

from __future__ import annotations

import subprocess
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from prometheus_client.metrics_core import Metric

from gpubench.telemetry.rules import rule_groups
from tests.e2e.prometheus import Prometheus, prometheus_server
from tests.prometheus_programs import prometheus_program

ENDS_AT_ONCE = "--query.lookback-delta=20s"
"""Blocks do not tell, as scrapes do, that a series has ended."""
Moment = tuple[float, Iterable[Metric]]


def write_openmetrics(path: Path, moments: Iterable[Moment]) -> None:
    """Write what was served at each moment, in the form that promtool makes blocks of."""
    samples: defaultdict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for moment, metrics in moments:
        for sample in (sample for metric in metrics for sample in metric.samples):
            labels = ",".join(f'{key}="{value}"' for key, value in sorted(sample.labels.items()))
            series = f"{sample.name}{{{labels}}}"
            samples[sample.name][series].append(f"{series} {sample.value} {moment:.3f}")
    with path.open("w", encoding="utf-8") as file:
        for name, by_series in samples.items():
            file.write(f"# TYPE {name} unknown\n")
            file.writelines(f"{line}\n" for lines in by_series.values() for line in lines)
        file.write("# EOF\n")


@contextmanager
def prometheus_with_a_past(folder: Path, moments: Iterable[Moment]) -> Iterator[Prometheus]:
    """A Prometheus that knows these moments, and what our rules make of them."""
    text, data, rules = folder / "past.om", folder / "data", folder / "rules.yml"
    write_openmetrics(text, moments)
    end = int(time.time())
    period = (f"--start={end - 86_400}", f"--end={end}", "--eval-interval=15s")
    _promtool("tsdb", "create-blocks-from", "openmetrics", "--quiet", text, data)
    groups = rule_groups()["groups"]
    # One pass for each of the rules that another one reads.
    for rank in range(3):
        part = [_rules_of_rank(group, rank) for group in groups]
        rules.write_text(yaml.safe_dump({"groups": [g for g in part if g["rules"]]}), "utf-8")
        with prometheus_server(folder, [], None, ENDS_AT_ONCE) as server:
            places = (f"--url={server.address}", f"--output-dir={data}")
            _promtool("tsdb", "create-blocks-from", "rules", *period, *places, rules)
    with prometheus_server(folder, [], None, ENDS_AT_ONCE) as server:
        yield server


def _rules_of_rank(group: dict[str, object], rank: int) -> dict[str, object]:
    """Return the recordings of a group that depend on so many others."""
    rules = group["rules"]
    assert isinstance(rules, list)
    found = [rule for rule in rules if "record" in rule and _rank(rule["expr"]) == rank]
    return {**group, "rules": found}


def _rank(expression: str) -> int:
    if "point:gpubench_speedup" in expression:
        return 2
    return int("point:" in expression)


def _promtool(*arguments: object) -> None:
    command = [str(prometheus_program("promtool")), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
