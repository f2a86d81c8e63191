"""What profilers found, point by point."""

from __future__ import annotations

import pytest

from tests.unit.analysis.reading import table_of, texts
from tests.unit.analysis.result_builders import (
    image_workload,
    make_input,
    make_result,
    make_run,
    with_everything,
)

COLUMNS = {
    "profiler": "Nsys",
    "window": "60.0",
    "overhead": "2.00",
    "idle": "10.00",
    "communicationOverlap": "75.00",
    "exposedCommunication": "3.00",
    "copyOverlap": "50.00",
    # 100 MiB over 100 steps.
    "hostToDevice": "1.00",
    "launchLatency": "0.0320",
}


@pytest.mark.parametrize(("key", "text"), COLUMNS.items())
def test_what_the_profile_says_stands_in_its_column(key: str, text: str) -> None:
    workload = image_workload()
    run = make_run(workload, 2, with_everything(make_result(workload, 2)))
    assert texts(table_of(make_input([run]), "profiles"), key) == [text]


def test_a_profile_without_a_gpu_has_no_columns_about_gpus() -> None:
    workload = image_workload()
    result = with_everything(make_result(workload, 2))
    assert result.profile is not None
    profile = result.profile.model_copy(
        update={"activity": None, "launch_latency": None, "idle_share": None}
    )
    run = make_run(workload, 2, result.model_copy(update={"profile": profile}))
    keys = {column.key for column in table_of(make_input([run]), "profiles").columns}
    assert {"profiler", "window", "overhead"} <= keys
    assert not keys & {"idle", "exposedCommunication", "copyOverlap", "launchLatency"}
