"""Methods of tuning as PyTorchJobs, each profiled by nsys: manifests/tiny-llama-methods.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpubench.api.enums import TuningMethod
from gpubench.api.result import RunResult
from tests.e2e.benchmarks import BenchmarkOnCluster, new_namespaces
from tests.e2e.cluster import Cluster
from tests.e2e.operators import OperatorProcess, running_operator
from tests.e2e.product_images import ensure_product_image
from tests.e2e.volumes import make_claim

SAMPLE = Path(__file__).parents[2] / "manifests" / "tiny-llama-methods.yaml"
POINTS = {
    (TuningMethod.LORA, 1),
    (TuningMethod.LORA, 2),
    (TuningMethod.QLORA, 1),
    (TuningMethod.DPO, 1),
}
PATIENCE_SECONDS = 1200


@pytest.fixture(scope="module")
def operator(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    if cluster.layout is None:
        pytest.skip("brings images to the node")
    image = ensure_product_image("llm-tuning", cluster.layout)
    settings = {"images": {"llmTuning": image}}
    with running_operator(cluster, tmp_path_factory.mktemp("operator"), settings) as operator:
        yield operator


@pytest.fixture(scope="module")
def benchmark(operator: OperatorProcess) -> Iterator[BenchmarkOnCluster]:
    cluster = operator.cluster
    with new_namespaces(cluster) as make_namespace:
        namespace = make_namespace()
        make_claim(cluster, namespace, "gpubench-results")
        found = BenchmarkOnCluster(cluster, namespace, "tiny-llama-methods")
        cluster.apply(SAMPLE.read_text(encoding="utf-8"), f"--namespace={namespace}")
        found.wait_for_phase("Completed", PATIENCE_SECONDS)
        yield found


@pytest.fixture(scope="module")
def folder(benchmark: BenchmarkOnCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a user has pulled the results to."""
    folder = tmp_path_factory.mktemp("pulled")
    benchmark.gpubench(folder, "pull")
    return folder


@pytest.fixture(scope="module")
def results(folder: Path) -> list[RunResult]:
    return [
        RunResult.from_document(path.read_text(encoding="utf-8"))
        for path in folder.glob("results/*/*/attempt-1/result.json")
    ]


def test_every_run_is_valid_and_profiled_at_the_first_try(benchmark: BenchmarkOnCluster) -> None:
    runs = benchmark.runs()
    assert len(runs) == len(POINTS)
    for run in runs.values():
        assert run.attempt == 1
        assert run.validity is not None
        assert run.validity.status == "Valid", run.validity
        assert run.validity.failed_gates == []
        assert run.result is not None
        assert run.result.profile is not None
        assert run.result.profile.source == "Nsys"


def test_the_loss_of_every_method_falls(results: list[RunResult]) -> None:
    methods = set()
    for result in results:
        tuning = result.parameters.workload.llm_tuning
        assert tuning is not None
        methods.add((tuning.method, result.parameters.gpus))
        assert result.quality is not None
        assert result.quality.first_loss is not None
        assert result.quality.final_loss is not None
        assert result.quality.final_loss < result.quality.first_loss
    assert methods == POINTS


def test_each_rank_has_its_report_and_the_recipe_is_kept(results: list[RunResult]) -> None:
    for result in results:
        kept = {artifact.path for artifact in result.artifacts}
        reports = {f"profile/rank-{rank}.nsys-rep" for rank in range(result.parameters.gpus)}
        assert reports | {"recipe.yaml", "steps.parquet"} <= kept


def test_the_report_has_methods_and_profiles(benchmark: BenchmarkOnCluster, folder: Path) -> None:
    benchmark.gpubench(folder, "report", "--to=report")
    [page] = (path.read_text(encoding="utf-8") for path in folder.rglob("report.html"))
    for method in {method for method, _ in POINTS}:
        assert method.value in page
    for run in benchmark.runs().values():
        assert run.result is not None
        assert run.result.profile is not None
        families = run.result.profile.families
        assert max(families, key=lambda family: families[family].calls).value in page
