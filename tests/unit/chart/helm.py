"""The chart rendered by helm, as plain objects."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.cluster.builds import binaries_folder

CHART = Path(__file__).parents[3] / "charts" / "gpubench"
KUBERNETES = "1.34.4"
NAMESPACE = "gpubench-system"
MONITORS = (
    "monitoring.coreos.com/v1/ServiceMonitor",
    "monitoring.coreos.com/v1/PodMonitor",
    "monitoring.coreos.com/v1/PrometheusRule",
)

Object = dict[str, Any]


def program(name: str) -> str:
    """Where helm or kubeconform is: on PATH, or built for the test cluster."""
    built = binaries_folder() / name
    found = shutil.which(name) or (str(built) if built.exists() else None)
    if found is not None:
        return found
    reason = f"there is no {name}: install it, or let `make cluster-up` build it"
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; CI must run these tests")
    pytest.skip(reason)


def run_helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run helm; the caller looks at the exit code."""
    return subprocess.run(
        [program("helm"), *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@cache
def _render(values: str, apis: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    options = [f"--namespace={NAMESPACE}", f"--kube-version={KUBERNETES}"]
    options += [f"--api-versions={api}" for api in apis]
    return subprocess.run(
        [program("helm"), "template", "gpubench", str(CHART), *options, "--values=-"],
        input=values,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def render_text(values: Object | None = None, apis: tuple[str, ...] = ()) -> str:
    """Return what helm template prints."""
    done = _render(json.dumps(values or {}), apis)
    assert done.returncode == 0, done.stderr
    return done.stdout


def render(values: Object | None = None, apis: tuple[str, ...] = ()) -> list[Object]:
    """Return the chart's objects, hooks included."""
    return [found for found in yaml.safe_load_all(render_text(values, apis)) if found]


def refusal(values: Object) -> str:
    """Return why helm does not take these values."""
    done = _render(json.dumps(values), ())
    assert done.returncode != 0, "helm took them"
    return done.stderr


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    """Return the objects of a kind."""
    return [found for found in objects if found["kind"] == kind]


def named(objects: list[Object], kind: str, name: str) -> Object:
    """Return the one object of this kind and name."""
    (found,) = [o for o in of_kind(objects, kind) if o["metadata"]["name"] == name]
    return found
