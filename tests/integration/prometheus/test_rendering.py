"""Dashboards as pictures, drawn from what a real Prometheus has recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.prometheus.conftest import Recorded
from tests.integration.prometheus.recorded_sweep import BENCHMARK, NAMESPACE, RUNS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("recorded-prometheus")]

REPOSITORY = Path(__file__).parents[3]
PNG = b"\x89PNG"


def render(recorded: Recorded, output: Path, benchmark: str) -> subprocess.CompletedProcess[str]:
    settings = {"namespace": NAMESPACE, "benchmark": benchmark, "run": RUNS[2].name}
    return subprocess.run(
        [
            *(sys.executable, "-m", "scripts.render_dashboards", recorded.address),
            *(f"--set={name}={value}" for name, value in settings.items()),
            *(f"--until={recorded.window.end}", f"--output={output}"),
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_every_dashboard_becomes_a_picture(recorded: Recorded, tmp_path: Path) -> None:
    done = render(recorded, tmp_path, BENCHMARK)
    assert done.returncode == 0, done.stderr
    pictures = sorted(tmp_path.iterdir())
    assert [p.stem.removeprefix("gpubench-") for p in pictures] == [
        "gpus",
        "operator",
        "run",
        "sweep",
    ]
    assert all(picture.read_bytes().startswith(PNG) for picture in pictures)


def test_what_is_empty_is_named(recorded: Recorded, tmp_path: Path) -> None:
    done = render(recorded, tmp_path, "unknown")
    assert done.returncode == 1
    assert "nothing to show: gpubench-sweep: Points" in done.stderr
