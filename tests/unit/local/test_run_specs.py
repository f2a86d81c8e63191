"""What each run's process is given on this machine, and whether the machine can run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.enums import DeviceKind
from gpubench.api.errors import SpecError
from gpubench.local.devices import Machine
from gpubench.local.run_specs import RunSpecBuilder, check_fits
from gpubench.sweep.expansion import expand

CPU = Machine(DeviceKind.CPU, tuple("01234567"), "processor cores")
GPUS = Machine(DeviceKind.CUDA, ("GPU-a", "GPU-b"), "NVIDIA H100")


def benchmark(**spec: object) -> GPUBenchmark:
    base: dict[str, object] = {"workload": {"imageRecognition": {}}}
    return GPUBenchmark.model_validate({"metadata": {"name": "demo"}, "spec": base | spec})


def builder(machine: Machine, **spec: object) -> RunSpecBuilder:
    made = benchmark(**spec)
    return RunSpecBuilder.for_plan(made, expand(made), machine, Path("data"))


@pytest.mark.parametrize(
    ("spec", "threads"),
    [
        ({}, 8),
        ({"gpus": 2}, 4),
        ({"sweep": {"matrix": {"gpus": [1, 2, 4]}}}, 2),
        ({"sweep": {"matrix": {"gpus": [1, 3]}}}, 2),
        ({"execution": {"isolation": "Shared"}}, 1),
    ],
)
def test_a_rank_has_the_same_threads_in_all_runs(spec: dict[str, object], threads: int) -> None:
    assert builder(CPU, **spec).threads_per_rank == threads


def test_a_run_is_given_all_that_it_needs() -> None:
    spec = {
        "gpus": 2,
        "execution": {"timeoutSeconds": 77, "noProgressSeconds": 7},
        "results": {"acceptance": [{"metric": "accuracy", "atLeast": "0.9"}]},
    }
    made = benchmark(**spec)
    plan = expand(made)
    run_spec = RunSpecBuilder.for_plan(made, plan, GPUS, Path("data")).build(plan.runs[0], 3)
    assert run_spec.identity.attempt == 3
    assert run_spec.identity.run == plan.runs[0].name
    assert (run_spec.gpus, run_spec.device) == (2, DeviceKind.CUDA)
    assert run_spec.threads_per_rank is None
    assert run_spec.data_root == str(Path("data").resolve())
    assert (run_spec.limits.timeout_seconds, run_spec.limits.no_progress_seconds) == (77, 7)
    assert run_spec.acceptance == made.spec.results.acceptance


@pytest.mark.parametrize(
    ("machine", "spec", "message"),
    [
        (
            GPUS,
            {"sweep": {"matrix": {"gpus": [1, 2, 3, 4]}}},
            "spec.sweep.matrix.gpus: 3, 4 asked for, but this machine has 2 (NVIDIA H100); "
            "to run what fits: --set sweep.matrix.gpus=[1,2]",
        ),
        (
            GPUS,
            {"gpus": 4},
            "spec.gpus: 4 asked for, but this machine has 2 (NVIDIA H100); "
            "to run what fits: --set gpus=1",
        ),
        (
            Machine(DeviceKind.CPU, ("0",), "processor cores"),
            {"gpus": 2},
            "spec.gpus: 2 asked for, but this machine has no GPU in use and 1 processor cores, "
            "so at most 1 ranks are sensible; to run what fits: --set gpus=1",
        ),
        (
            CPU,
            {"sweep": {"matrix": {"strategy": ["DDP", "DataParallel"], "gpus": [1, 2]}}},
            "spec.workload.imageRecognition.strategy: DataParallel with gpus 2 makes no sense on "
            "a CPU, where one process has no GPUs to spread over; allowed there: gpus 1, or DDP, "
            "DDP-RR, DDP-DS",
        ),
    ],
)
def test_points_that_the_machine_cannot_run(
    machine: Machine, spec: dict[str, object], message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        check_fits(expand(benchmark(**spec)), machine)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("machine", "spec"),
    [
        (GPUS, {"sweep": {"matrix": {"strategy": ["DataParallel", "DDP"], "gpus": [1, 2]}}}),
        (CPU, {"sweep": {"matrix": {"strategy": ["DataParallel"]}}}),
        (CPU, {"gpus": 8}),
    ],
)
def test_points_that_it_can(machine: Machine, spec: dict[str, object]) -> None:
    check_fits(expand(benchmark(**spec)), machine)
