"""Every panel of every dashboard asks a real Prometheus, and gets what was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.panel_data import Series, Target, panels, targets
from tests.integration.prometheus.conftest import Recorded
from tests.integration.prometheus.recorded_sweep import (
    BENCHMARK,
    NAMESPACE,
    RUNS,
    WATTS,
    profile_of,
)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("recorded-prometheus")]

FILES = Path(__file__).parents[3] / "charts" / "gpubench" / "files" / "dashboards"
DASHBOARDS = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FILES.iterdir())}
RUN = RUNS[2]
"""Four GPUs, the whole of it recorded."""
VARIABLES = {"namespace": NAMESPACE, "benchmark": BENCHMARK, "run": RUN.name}
LOOKBACK_SECONDS = 20.0
"""Of the rule, and of the query that reads it."""
QUERIES = [
    pytest.param(target, id=f"{name}-{panel['title']}-{target.ref}")
    for name, dashboard in DASHBOARDS.items()
    for panel in panels(dashboard)
    for target in targets(panel, VARIABLES)
]


@pytest.mark.parametrize("target", QUERIES)
def test_no_query_is_empty_or_an_error(recorded: Recorded, target: Target) -> None:
    assert recorded.prometheus.answer(target, recorded.window), target.expression


def panel_of(dashboard: str, title: str) -> dict[str, Any]:
    (found,) = [p for p in panels(DASHBOARDS[dashboard]) if p["title"].startswith(title)]
    return found


def answers(recorded: Recorded, dashboard: str, title: str) -> list[list[Series]]:
    """Return what each query of a panel gets."""
    found = targets(panel_of(dashboard, title), VARIABLES)
    return [recorded.prometheus.answer(target, recorded.window) for target in found]


def test_the_table_of_points_has_a_row_for_each_and_its_numbers(recorded: Recorded) -> None:
    rows, valid, rates, *_, efficiencies, overheads, energies = answers(
        recorded, "gpubench-sweep", "Points"
    )
    assert {row.labels["point"] for row in rows} == {run.parameters["point"] for run in RUNS}
    finished = {run.parameters["point"]: run for run in RUNS[:-1]}
    assert {row.labels["point"] for row in valid} == set(finished)
    for series, expected in (
        (rates, lambda run: run.rate),
        (efficiencies, lambda run: run.efficiency),
        (overheads, lambda run: profile_of(run).overhead),
        (energies, lambda run: WATTS * run.gpus / run.rate),
    ):
        found = {one.labels["point"]: one.value for one in series}
        assert found == pytest.approx({point: expected(run) for point, run in finished.items()})


def test_curves_have_a_line_for_each_setting_over_gpus(recorded: Recorded) -> None:
    (series,) = answers(recorded, "gpubench-sweep", "Efficiency by GPUs")
    at_four = {s.labels["setting"]: s.value for s in series if s.labels["gpus"] == "4"}
    assert at_four == pytest.approx(
        {
            f"DDP-DS  FP32 {run.dataset} {run.image_size} {str(run.pin_memory).lower()}": (
                run.efficiency
            )
            for run in RUNS[:-1]
            if run.gpus == 4
        }
    )


def test_figure_3_has_the_shares_of_every_setting(recorded: Recorded) -> None:
    (series,) = answers(recorded, "gpubench-sweep", "Family shares")
    found = {(s.labels["setting"], s.labels["family"]): s.value for s in series}
    for run in RUNS[6:12]:
        profile = profile_of(run)
        pinned = str(run.pin_memory).lower()
        for family, numbers in profile.families.items():
            setting = f"{run.gpus}, {run.image_size}, {pinned}"
            share = numbers.seconds / (profile.window_seconds * run.gpus)
            assert found[setting, family] == pytest.approx(share)


def test_gpus_are_joined_to_the_run_in_its_own_time_only(recorded: Recorded) -> None:
    (series,) = answers(recorded, "gpubench-run", "Power")
    assert {s.labels["gpu"] for s in series} == {"0", "1", "2", "3"}
    for one in series:
        moments = [moment - recorded.window.start for moment, _ in one.points]
        assert min(moments) >= RUN.start
        assert max(moments) <= RUN.end + 2 * LOOKBACK_SECONDS
        assert max(value for _, value in one.points) > 400


def test_progress_reaches_what_is_done(recorded: Recorded) -> None:
    ((finished,),) = answers(recorded, "gpubench-sweep", "Finished")
    assert finished.value == pytest.approx((len(RUNS) - 1) / len(RUNS))
