"""Where the time of profiled runs went, as Prometheus reads it."""

from __future__ import annotations

import pytest

from gpubench.api.enums import Family, RunPhase, ValidityStatus
from gpubench.telemetry.run_sample import RunSample
from tests.unit.lifecycle.results import good_result
from tests.unit.telemetry.samples import FULL, PROFILE, exported, sample


def of_families(name: str, run: RunSample | None = None) -> dict[str, float]:
    found = exported(run or sample())[f"gpubench_run_profile_family_{name}"]
    return {labels["family"]: value for labels, value in found}


def test_families_have_their_calls_seconds_and_share_of_the_window_on_all_ranks() -> None:
    assert of_families("calls") == {"cudaLaunchKernel": 1000, "ncclAllReduce": 80}
    assert of_families("seconds") == {"cudaLaunchKernel": 5.0, "ncclAllReduce": 2.0}
    # 10 s on each of two ranks.
    assert of_families("share_ratio") == {"cudaLaunchKernel": 0.25, "ncclAllReduce": 0.1}


def test_dataparallel_has_one_process_for_all_gpus() -> None:
    shares = of_families("share_ratio", sample(strategy="DataParallel"))
    assert shares == {"cudaLaunchKernel": 0.5, "ncclAllReduce": 0.2}


@pytest.mark.parametrize(
    ("name", "value"), [("overhead_ratio", 0.04), ("idle_ratio", 0.25), ("window_seconds", 10.0)]
)
def test_the_window_has_its_numbers(name: str, value: float) -> None:
    assert [found for _, found in exported(sample())[f"gpubench_run_profile_{name}"]] == [value]


def test_what_a_profile_does_not_have_is_left_out() -> None:
    profile = PROFILE.model_copy(update={"overhead": None, "idle_share": None})
    families = exported(sample(FULL.model_copy(update={"profile": profile})))
    assert families["gpubench_run_profile_overhead_ratio"] == []
    assert families["gpubench_run_profile_idle_ratio"] == []
    assert families["gpubench_run_profile_window_seconds"]


def test_a_family_without_time_in_an_empty_window_has_no_share() -> None:
    profile = PROFILE.model_copy(update={"window_seconds": 0.0})
    families = exported(sample(FULL.model_copy(update={"profile": profile})))
    assert {v for _, v in families["gpubench_run_profile_family_share_ratio"]} == {0.0}


def test_the_profiler_is_told() -> None:
    ((labels, _),) = exported(sample())["gpubench_run_profile_info"]
    assert labels["source"] == "Nsys"


@pytest.mark.parametrize(
    "other",
    [
        sample(good_result()),
        sample(FULL, ValidityStatus.INVALID, phase=RunPhase.INVALID),
    ],
)
def test_runs_without_a_profile_or_a_valid_result_have_none(other: RunSample) -> None:
    families = exported(other)
    assert not any(families[name] for name in families if "profile" in name)


def test_every_family_can_be_exported() -> None:
    numbers = PROFILE.families[Family.CUDA_LAUNCH_KERNEL]
    profile = PROFILE.model_copy(update={"families": dict.fromkeys(Family, numbers)})
    families = exported(sample(FULL.model_copy(update={"profile": profile})))
    found = {labels["family"] for labels, _ in families["gpubench_run_profile_family_seconds"]}
    assert found == set(Family)
