from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpubench.api.enums import DeviceKind, Strategy
from gpubench.api.parsing import parse_benchmark
from gpubench.sweep.expansion import expand
from gpubench.sweep.plan import Plan

DIGITS_IMAGES = 1442
"""Training images of scikit-learn's digits."""
MANIFESTS = Path(__file__).parents[3] / "manifests"
SAMPLES = sorted(path.name for path in MANIFESTS.glob("*.yaml") if path.name != "volumes.yaml")

# Total seconds on 1, 2, 3 and 4 H100s: Lawenda et al. 2025, Table 2 and (pinMemory on) Table 3.
PAPER_SECONDS = {
    ("FP64", False): [6266, 3339, 2318, 1937],
    ("FP32", False): [3721, 2094, 1483, 1256],
    ("FP16", False): [2477, 1445, 1049, 919],
    ("FP32", True): [2921, 1733, 1283, 1165],
}


def plan_of(name: str) -> Plan:
    return expand(parse_benchmark((MANIFESTS / name).read_bytes(), name))


def comments_of(name: str) -> str:
    lines = (MANIFESTS / name).read_text(encoding="utf-8").splitlines()
    return " ".join(line.removeprefix("#").strip() for line in lines if line.startswith("#"))


def parameters(a_plan: Plan, *names: str) -> set[tuple[Any, ...]]:
    """Return the values of these parameters over all points."""
    return {
        tuple(
            point.gpus if name == "gpus" else getattr(point.workload.parameters, name)
            for name in names
        )
        for point in a_plan.points
    }


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_can_be_run_as_it_is(name: str) -> None:
    a_plan = plan_of(name)
    assert a_plan.benchmark == name.removesuffix(".yaml")
    assert a_plan.runs
    assert comments_of(name)


def test_the_samples_are_those_of_the_guide() -> None:
    assert {name for name in SAMPLES if name.startswith("mobilenet-")} == {
        "mobilenet-image-sizes.yaml",
        "mobilenet-profile.yaml",
        "mobilenet-quickstart.yaml",
        "mobilenet-strategies.yaml",
        "mobilenet-sweep-cpu.yaml",
        "mobilenet-sweep.yaml",
    }


def test_the_samples_of_llm_tuning_are_those_of_the_papers_and_a_quickstart() -> None:
    fields = ("method", "precision", "pin_memory", "gpus")
    quickstart = plan_of("tiny-llama-quickstart.yaml")
    assert parameters(quickstart, "model", "gpus") == {("tiny-llama", 1), ("tiny-llama", 2)}
    datasets = plan_of("llama3-lora-datasets.yaml")
    names = {point.workload.parameters.dataset.name for point in datasets.points}
    assert names == {"alpaca-cleaned", "grammar", "samsum", "slimorca"}
    assert parameters(datasets, *fields) == {("LoRA", "FP32", False, n) for n in (1, 2, 3, 4)}
    pinned = plan_of("llama3-lora-pin-memory.yaml")
    assert parameters(pinned, *fields) == {
        ("LoRA", "FP32", pin, n) for n in (1, 2, 3, 4) for pin in (False, True)
    }
    methods = parameters(plan_of("llama3-methods.yaml"), "method")
    assert methods == {
        ("LoRA",),
        ("QLoRA",),
        ("Full",),
        ("QAT",),
        ("QAT-LoRA",),
        ("DPO",),
        ("LoRA-DPO",),
    }


def test_the_papers_defaults_are_the_workloads() -> None:
    (point, *_) = plan_of("llama3-lora-pin-memory.yaml").points
    tuning = point.workload.llm_tuning
    assert tuning is not None
    # Lawenda et al. 2025, section 4.4.
    assert (tuning.batch_size, tuning.learning_rate) == (2, "3e-4")
    assert (tuning.warmup_steps, tuning.epochs, tuning.max_steps) == (100, 1, None)


def test_the_sweep_for_processors_asks_for_no_gpu_and_for_the_volumes_of_the_sample() -> None:
    benchmark = parse_benchmark((MANIFESTS / "mobilenet-sweep-cpu.yaml").read_bytes(), "")
    a_plan = expand(benchmark)
    assert len(a_plan.runs) == 8
    assert {gpus for (gpus,) in parameters(a_plan, "gpus")} == {1, 2}
    assert benchmark.spec.execution.device is DeviceKind.CPU
    volumes = yaml.safe_load_all((MANIFESTS / "volumes.yaml").read_text(encoding="utf-8"))
    claims = {v["metadata"]["name"] for v in volumes if v["kind"] == "PersistentVolumeClaim"}
    asked = {benchmark.spec.execution.data_volume_claim, benchmark.spec.results.volume_claim}
    assert asked == claims


def test_the_profiled_sweep_is_two_by_two_and_long_enough_for_its_window() -> None:
    benchmark = parse_benchmark((MANIFESTS / "mobilenet-profile.yaml").read_bytes(), "")
    a_plan = expand(benchmark)
    assert len(a_plan.runs) == 4
    nsys = benchmark.spec.profiling.nsys
    assert nsys.steps is not None
    workload = a_plan.points[0].workload.image_recognition
    assert workload is not None
    fewest = workload.epochs * (DIGITS_IMAGES // 2 // workload.batch_size)
    assert nsys.warmup_steps + 2 * nsys.steps <= fewest


def test_the_quickstart_is_small_and_varied() -> None:
    a_plan = plan_of("mobilenet-quickstart.yaml")
    assert len(a_plan.runs) == 8
    assert {gpus for (gpus,) in parameters(a_plan, "gpus")} == {1, 2}
    assert len(parameters(a_plan, "strategy")) == 2
    assert len(parameters(a_plan, "precision")) == 2
    assert parameters(a_plan, "image_size") == {(32,)}


def test_the_sweep_is_tables_2_and_3() -> None:
    a_plan = plan_of("mobilenet-sweep.yaml")
    assert parameters(a_plan, "precision", "pin_memory", "gpus") == {
        (*case, gpus) for case in PAPER_SECONDS for gpus in (1, 2, 3, 4)
    }
    assert len(a_plan.runs) == 16
    constant = parameters(a_plan, "image_size", "epochs", "strategy", "casting")
    assert constant == {(500, 20, Strategy.DDP_DS, "Auto")}


def test_the_strategies_are_figure_1() -> None:
    a_plan = plan_of("mobilenet-strategies.yaml")
    strategies = ("DDP-DS", "DDP-RR", "DDP")
    assert parameters(a_plan, "strategy", "gpus") == set(product(strategies, (1, 2, 3, 4)))
    assert parameters(a_plan, "image_size", "precision", "pin_memory") == {(700, "FP32", False)}


def test_the_image_sizes_are_figure_2() -> None:
    a_plan = plan_of("mobilenet-image-sizes.yaml")
    sizes = (100, 200, 300, 400, 500)
    assert parameters(a_plan, "image_size", "gpus") == set(product(sizes, (1, 2, 3, 4)))
    assert parameters(a_plan, "strategy", "precision", "pin_memory") == {("DDP-DS", "FP64", False)}


def gpu_seconds(seconds: list[float]) -> float:
    return sum(gpus * value for gpus, value in enumerate(seconds, start=1))


def test_the_costs_in_the_comments_are_the_papers() -> None:
    times = [[float(s) for s in row] for row in PAPER_SECONDS.values()]
    total, gpu_total = sum(map(sum, times)), sum(map(gpu_seconds, times))
    comments = comments_of("mobilenet-sweep.yaml")
    assert f"{total:,.0f} s = {total / 3600:.1f} hours" in comments
    assert f"{gpu_total:,.0f} GPU-seconds = {gpu_total / 3600:.1f} GPU-hours" in comments


def test_the_estimates_in_the_comments_follow_from_table_2() -> None:
    larger = (700 / 500) ** 2
    ds = [seconds * larger for seconds in PAPER_SECONDS["FP32", False]]
    alone = [ds[0]] * 4
    hours = (sum(ds) + 2 * sum(alone)) / 3600
    gpu_hours = (gpu_seconds(ds) + 2 * gpu_seconds(alone)) / 3600
    comments = comments_of("mobilenet-strategies.yaml")
    assert f"about {hours:.0f} hours one after the other, {gpu_hours:.0f} GPU-hours" in comments

    smaller = sum((size / 500) ** 2 for size in (100, 200, 300, 400, 500))
    fp64 = [seconds * smaller for seconds in PAPER_SECONDS["FP64", False]]
    hours, gpu_hours = sum(fp64) / 3600, gpu_seconds(fp64) / 3600
    comments = comments_of("mobilenet-image-sizes.yaml")
    assert f"at least {hours:.1f} hours one after the other, {gpu_hours:.0f} GPU-hours" in comments
