from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpubench.sweep.resume import runs_to_do
from tests.unit.sweep.sweeps import plan

RUNS = plan(matrix={"gpus": [1, 2, 3], "precision": ["FP32", "FP64"]}, repetitions=2).runs
NAMES = [run.name for run in RUNS]


def test_finished_runs_are_not_done_again() -> None:
    assert [run.name for run in runs_to_do(RUNS, NAMES[:5])] == NAMES[5:]


@given(st.sets(st.sampled_from([*NAMES, "of-another-sweep"])))
def test_what_is_left_and_what_is_finished_are_the_whole(finished: set[str]) -> None:
    left = runs_to_do(RUNS, finished)
    assert [run for run in RUNS if run.name not in finished] == list(left)
    assert {run.name for run in left} | (finished & set(NAMES)) == set(NAMES)
    assert runs_to_do(left, finished) == left


def test_a_changed_workload_is_run_again_and_a_grown_sweep_only_where_it_grew() -> None:
    matrix = {"gpus": [1, 2, 3], "precision": ["FP32", "FP64"]}
    changed = plan({"imageRecognition": {"epochs": 3}}, matrix=matrix, repetitions=2).runs
    assert runs_to_do(changed, NAMES) == changed
    grown = plan(matrix=matrix | {"gpus": [1, 2, 3, 4]}, repetitions=2).runs
    assert {run.point.gpus for run in runs_to_do(grown, NAMES)} == {4}
