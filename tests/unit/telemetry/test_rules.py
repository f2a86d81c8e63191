"""Recording rules and alerts: taken by Prometheus, proven by promtool, each with a runbook."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpubench.telemetry.rules import rule_groups
from tests.prometheus_programs import prometheus_program

REPOSITORY = Path(__file__).parents[3]
RULES = REPOSITORY / "charts" / "gpubench" / "files" / "rules" / "gpubench.yaml"
TESTS = sorted((Path(__file__).parent / "promtool").glob("*.yaml"))
RUNBOOKS = REPOSITORY / "docs" / "alerts.md"
METRICS = REPOSITORY / "docs" / "metrics.md"

Rule = dict[str, Any]
EVERY_RULE: list[Rule] = [rule for group in rule_groups()["groups"] for rule in group["rules"]]
ALERTS = [rule for rule in EVERY_RULE if "alert" in rule]
RECORDINGS = [rule for rule in EVERY_RULE if "record" in rule]


def name_of(rule: Rule) -> str:
    return str(rule.get("alert") or rule["record"])


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [prometheus_program("promtool"), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )


def check_rules(folder: Path, rules: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run all unit tests of rules against some."""
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules), encoding="utf-8")
    files = []
    for test in TESTS:
        content = yaml.safe_load(test.read_text(encoding="utf-8"))
        files.append(folder / test.name)
        files[-1].write_text(yaml.safe_dump(content | {"rule_files": ["rules.yaml"]}), "utf-8")
    return promtool("test", "rules", *files)


def test_the_charts_rules_are_the_generated_ones() -> None:
    assert yaml.safe_load(RULES.read_text(encoding="utf-8")) == rule_groups(), "run: make generate"


def test_prometheus_takes_them() -> None:
    done = promtool("check", "rules", RULES)
    assert done.returncode == 0, done.stdout
    assert f"{len(EVERY_RULE)} rules found" in done.stdout


def test_they_do_what_their_unit_tests_say() -> None:
    done = promtool("test", "rules", *TESTS)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("SUCCESS") == len(TESTS)


@pytest.mark.parametrize("rule", EVERY_RULE, ids=name_of)
def test_every_rule_is_missed_by_the_unit_tests(rule: Rule, tmp_path: Path) -> None:
    groups = [
        group | {"rules": [other for other in group["rules"] if other != rule]}
        for group in rule_groups()["groups"]
    ]
    assert check_rules(tmp_path, {"groups": groups}).returncode != 0


def cases(kind: str) -> list[dict[str, Any]]:
    """Return the cases of all unit tests of a kind."""
    files = [yaml.safe_load(test.read_text(encoding="utf-8")) for test in TESTS]
    return [case for file in files for test in file["tests"] for case in test.get(kind, [])]


@pytest.mark.parametrize("alert", ALERTS, ids=name_of)
def test_every_alert_is_seen_to_fire_and_not_to_fire(alert: Rule) -> None:
    of_alert = [c for c in cases("alert_rule_test") if c["alertname"] == alert["alert"]]
    assert {bool(case["exp_alerts"]) for case in of_alert} == {True, False}


@pytest.mark.parametrize("recording", RECORDINGS, ids=name_of)
def test_every_recording_has_a_value_in_a_unit_test(recording: Rule) -> None:
    name = recording["record"]
    of_rule = [c for c in cases("promql_expr_test") if c["expr"].partition("{")[0] == name]
    assert any(case["exp_samples"] for case in of_rule)


@pytest.mark.parametrize("alert", ALERTS, ids=name_of)
def test_every_alert_has_a_runbook(alert: Rule) -> None:
    page, _, section = alert["annotations"]["runbook_url"].partition("#")
    assert REPOSITORY / page == RUNBOOKS
    headings = re.findall(r"^## (\w+)$", RUNBOOKS.read_text(encoding="utf-8"), re.MULTILINE)
    assert section in [heading.lower() for heading in headings]


@pytest.mark.parametrize("recording", RECORDINGS, ids=name_of)
def test_every_recording_is_documented(recording: Rule) -> None:
    assert f"`{recording['record']}`" in METRICS.read_text(encoding="utf-8")
