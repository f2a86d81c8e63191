from __future__ import annotations

import json

from gpubench.analysis.timeless import timeless_view
from gpubench.api.enums import FailureClass
from tests.unit.analysis.result_builders import (
    failed_run,
    image_workload,
    invalid_run,
    make_failure,
    make_input,
    make_provenance,
    make_result,
    make_run,
    missing_run,
    valid_run,
)

WORKLOAD = image_workload()


def test_times_attempts_and_order_do_not_matter() -> None:
    killed = make_failure(WORKLOAD, 1, failure_class=FailureClass.KILLED)
    resumed = make_result(
        WORKLOAD,
        1,
        seconds=140.0,
        attempt=2,
        provenance=make_provenance(started_at="2026-11-21T00:00:00Z"),
    )
    second = image_workload(precision="FP16")
    undisturbed = [valid_run(WORKLOAD, 1, seconds=100.0), valid_run(second, 1)]
    disturbed = [valid_run(second, 1, seconds=9.0), make_run(WORKLOAD, 1, killed, resumed)]
    assert timeless_view(make_input(undisturbed)) == timeless_view(make_input(disturbed))


def test_what_is_not_time_matters() -> None:
    views = [
        json.dumps(timeless_view(make_input([run])), sort_keys=True)
        for run in (
            valid_run(WORKLOAD, 1),
            valid_run(WORKLOAD, 1, accuracy=0.5),
            valid_run(WORKLOAD, 2),
            valid_run(image_workload(precision="FP16"), 1),
            invalid_run(WORKLOAD, 1),
            failed_run(WORKLOAD, 1),
            missing_run(WORKLOAD, 1),
        )
    ]
    assert len(set(views)) == len(views)


def test_it_is_plain_json() -> None:
    view = timeless_view(make_input([valid_run(WORKLOAD, 2), failed_run(WORKLOAD, 1)]))
    assert json.loads(json.dumps(view)) == view


def test_it_counts_every_run() -> None:
    view = timeless_view(make_input([valid_run(WORKLOAD, 1), missing_run(WORKLOAD, 2)]))
    assert view["tally"] == {"valid": 1, "invalid": 0, "failed": 0, "missing": 1}
