"""The numbers of runs as Prometheus reads them."""

from __future__ import annotations

import math

import pytest

from gpubench.api.enums import RunPhase, ValidityStatus
from gpubench.telemetry.run_metrics import INFO, POINT, SCALING_GROUP
from gpubench.telemetry.run_sample import RunSample
from tests.unit.lifecycle.results import bad_result, good_result
from tests.unit.telemetry.samples import FULL, exported, sample

NAMES = [
    "gpubench_run_accuracy_ratio",
    "gpubench_run_attempts",
    "gpubench_run_completion_timestamp_seconds",
    "gpubench_run_dataset_samples_per_second",
    "gpubench_run_evaluation_seconds",
    "gpubench_run_final_loss",
    "gpubench_run_flops_per_second",
    "gpubench_run_gate_failed",
    "gpubench_run_gpu_energy_joules",
    "gpubench_run_gpu_power_watts",
    "gpubench_run_gpu_seconds",
    "gpubench_run_gpu_utilization_ratio",
    "gpubench_run_gpus",
    "gpubench_run_info",
    "gpubench_run_iteration_seconds",
    "gpubench_run_mfu_ratio",
    "gpubench_run_peak_memory_bytes",
    "gpubench_run_phase",
    "gpubench_run_pod_info",
    "gpubench_run_profile_family_calls",
    "gpubench_run_profile_family_seconds",
    "gpubench_run_profile_family_share_ratio",
    "gpubench_run_profile_idle_ratio",
    "gpubench_run_profile_info",
    "gpubench_run_profile_overhead_ratio",
    "gpubench_run_profile_window_seconds",
    "gpubench_run_samples_per_second",
    "gpubench_run_seconds",
    "gpubench_run_setup_seconds",
    "gpubench_run_start_timestamp_seconds",
    "gpubench_run_steps",
    "gpubench_run_tokens_per_second",
    "gpubench_run_training_seconds",
]
"""Dashboards and rules know them: a name that changes breaks them."""
OF_EVERY_RUN = {
    "attempts",
    "completion_timestamp_seconds",
    "gate_failed",
    "gpu_seconds",
    "gpus",
    "info",
    "phase",
    "pod_info",
    "start_timestamp_seconds",
}
MORE_LABELS = {
    "gpubench_run_gate_failed": {"gate"},
    "gpubench_run_iteration_seconds": {"kind"},
    "gpubench_run_peak_memory_bytes": {"rank"},
    "gpubench_run_phase": {"phase"},
    "gpubench_run_pod_info": {"pod", "node"},
    "gpubench_run_profile_info": {"source"},
    "gpubench_run_profile_family_calls": {"family"},
    "gpubench_run_profile_family_seconds": {"family"},
    "gpubench_run_profile_family_share_ratio": {"family"},
}


def test_names_are_those_that_dashboards_know() -> None:
    families = exported(sample())
    assert sorted(families) == NAMES
    assert all(families.values()), "a full result fills all of them"


def test_numbers_carry_the_runs_identity_and_little_else() -> None:
    for name, samples in exported(sample()).items():
        for labels, _ in samples:
            if name != "gpubench_run_info":
                expected = {"namespace", "benchmark", "run"} | MORE_LABELS.get(name, set())
                assert set(labels) == expected


def test_parameters_are_labels_of_one_metric() -> None:
    described = sample(strategy="DDP-DS", gpus="2", point="abcdefghij", scaling_group="klmnopqrst")
    ((labels, value),) = exported(described)["gpubench_run_info"]
    assert value == 1
    assert set(labels) == {"namespace", "benchmark", "run", "validity", *INFO, POINT, SCALING_GROUP}
    assert (labels["strategy"], labels["gpus"], labels["method"]) == ("DDP-DS", "2", "")
    assert (labels["point"], labels["scaling_group"]) == ("abcdefghij", "klmnopqrst")
    assert labels["validity"] == "Valid"


def test_values_are_those_of_the_result() -> None:
    families = exported(sample())
    for name, value in (
        ("samples_per_second", 640.0),
        ("accuracy_ratio", 0.97),
        ("training_seconds", 2.0),
        ("seconds", 4.0),
        ("steps", 24.0),
        ("gpu_power_watts", 300.0),
        ("gpu_seconds", 12.5),
        ("gpus", 2.0),
        ("attempts", 2.0),
        ("start_timestamp_seconds", 1000.0),
        ("completion_timestamp_seconds", 1060.0),
    ):
        assert [v for _, v in families[f"gpubench_run_{name}"]] == [value]
    iterations = {labels["kind"]: v for labels, v in families["gpubench_run_iteration_seconds"]}
    assert iterations == {"mean": 0.1, "std": 0.01, "p50": 0.1, "p95": 0.11, "p99": 0.12}
    memory = {labels["rank"]: v for labels, v in families["gpubench_run_peak_memory_bytes"]}
    assert memory == {"0": 1.0, "1": 2.0}


@pytest.mark.parametrize(
    "other",
    [
        sample(FULL, ValidityStatus.INVALID, phase=RunPhase.INVALID),
        sample(FULL, None, phase=RunPhase.RUNNING),
        sample(None, None, phase=RunPhase.PENDING),
        sample(None, ValidityStatus.VALID),
        sample(bad_result(), None, phase=RunPhase.FAILED),
        sample(bad_result(), ValidityStatus.VALID, phase=RunPhase.FAILED),
    ],
)
def test_only_valid_results_are_numbers(other: RunSample) -> None:
    """A panel would average the others in."""
    filled = {name for name, samples in exported(other).items() if samples}
    assert filled == {f"gpubench_run_{name}" for name in OF_EVERY_RUN}


def test_what_a_result_does_not_have_is_not_exported_as_nothing() -> None:
    families = exported(sample(good_result()))
    assert families["gpubench_run_mfu_ratio"] == []
    values = [v for samples in families.values() for _, v in samples]
    assert all(math.isfinite(value) for value in values)


def test_labels_with_anything_in_them_survive() -> None:
    strange = 'a "b"\\c\nd ü'
    ((labels, _),) = exported(sample(dataset=strange))["gpubench_run_info"]
    assert labels["dataset"] == strange


def test_runs_are_told_apart() -> None:
    families = exported(sample(run="a"), sample(run="b", phase=RunPhase.INVALID))
    assert {labels["run"]: labels["phase"] for labels, _ in families["gpubench_run_phase"]} == {
        "a": "Succeeded",
        "b": "Invalid",
    }


def test_a_failed_gate_is_told_of_a_valid_result_too() -> None:
    """A profile that is missing leaves the training result valid."""
    ((labels, value),) = exported(sample())["gpubench_run_gate_failed"]
    assert (labels["gate"], value) == ("Profile", 1)
