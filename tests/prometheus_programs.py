"""Where Debian's Prometheus and promtool are, for tests that use the real ones."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

FETCH = Path(__file__).parents[1] / "scripts" / "fetch_prometheus.sh"


def prometheus_program(name: str) -> Path:
    """Return `prometheus` or `promtool`; skip where there is none, which CI may not."""
    folder = _folder()
    if folder is not None:
        return folder / name
    reason = f"there is no {name}: scripts/fetch_prometheus.sh says why"
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; CI must run these tests")
    pytest.skip(reason)


@cache
def _folder() -> Path | None:
    fetched = subprocess.run([FETCH], stdout=subprocess.PIPE, text=True, timeout=600, check=False)
    return Path(fetched.stdout.strip()) if fetched.returncode == 0 else None
