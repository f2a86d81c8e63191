"""The operator with 1,000 jobs that end at once and with 10,000 runs; docs/scale.md tells more."""

from __future__ import annotations

import pytest

from tests.bench.operator_scale.scenario import Plan, run_scenario

MAX_MEGABYTES = 300
MAX_IDLE_SHARE = 0.01
MIN_SHARE_OF_THE_YARDSTICK = 0.5
"""How fast jobs go is the API server's to say, on this machine and with these neighbours: what the
operator and the executor write together, over what the API server takes from the leanest client."""


@pytest.mark.timeout(600)
def test_a_thousand_jobs_and_ten_thousand_runs() -> None:
    report = run_scenario(Plan())
    assert report.lost == 0
    assert report.repeated == 0
    assert max(report.megabytes.values()) < MAX_MEGABYTES
    assert report.idle_share is not None
    assert report.idle_share < MAX_IDLE_SHARE
    assert report.writes_per_second > MIN_SHARE_OF_THE_YARDSTICK * report.ceiling
