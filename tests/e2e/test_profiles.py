"""A profiled sweep with real pods and a real nsys in them: manifests/mobilenet-profile.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from gpubench.api.compact import CompactProfile
from gpubench.api.enums import ValidityStatus
from gpubench.api.result import RunResult
from tests.e2e.benchmarks import BenchmarkOnCluster, new_namespaces
from tests.e2e.cluster import Cluster
from tests.e2e.cluster.commands import wait_until
from tests.e2e.operators import OperatorProcess, running_operator
from tests.e2e.product_images import ensure_product_image
from tests.e2e.prometheus import running_prometheus
from tests.e2e.volumes import make_claim

REPOSITORY = Path(__file__).parents[2]
SAMPLE = REPOSITORY / "manifests" / "mobilenet-profile.yaml"
RUNS = 4
PATIENCE_SECONDS = 1200


@pytest.fixture(scope="module")
def operator(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    if cluster.layout is None:
        pytest.skip("brings images to the node")
    image = ensure_product_image("image-recognition", cluster.layout)
    settings = {"images": {"imageRecognition": image}}
    with running_operator(cluster, tmp_path_factory.mktemp("operator"), settings) as operator:
        yield operator


@pytest.fixture(scope="module")
def benchmark(operator: OperatorProcess) -> Iterator[BenchmarkOnCluster]:
    cluster = operator.cluster
    with new_namespaces(cluster) as make_namespace:
        namespace = make_namespace()
        make_claim(cluster, namespace, "gpubench-results")
        found = BenchmarkOnCluster(cluster, namespace, "mobilenet-profile")
        cluster.apply(SAMPLE.read_text(encoding="utf-8"), f"--namespace={namespace}")
        found.wait_for_phase("Completed", PATIENCE_SECONDS)
        yield found


@pytest.fixture(scope="module")
def pulled(
    benchmark: BenchmarkOnCluster, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """The attempts' folders by run, as a user gets them from the volume."""
    folder = tmp_path_factory.mktemp("pulled")
    benchmark.gpubench(folder, "pull")
    return {
        path.parent.name: path for path in (folder / "results" / benchmark.name).glob("*/attempt-1")
    }


def profiles(benchmark: BenchmarkOnCluster) -> dict[str, CompactProfile]:
    """The profiles of all runs' statuses."""
    found = {}
    for name, run in benchmark.runs().items():
        assert run.result is not None
        assert run.result.profile is not None, run
        found[name] = run.result.profile
    return found


def test_every_run_is_valid_and_profiled_at_the_first_try(benchmark: BenchmarkOnCluster) -> None:
    runs = benchmark.runs()
    assert len(runs) == RUNS
    for run in runs.values():
        assert run.attempt == 1
        assert run.validity is not None
        assert run.validity.status is ValidityStatus.VALID
        assert run.validity.failed_gates == []
    for profile in profiles(benchmark).values():
        assert profile.source == "Nsys"
        assert profile.families
        assert profile.overhead is not None


def test_reports_lie_on_the_volume_and_results_say_the_same_as_statuses(
    benchmark: BenchmarkOnCluster, pulled: dict[str, Path]
) -> None:
    told = profiles(benchmark)
    assert set(pulled) == set(told)
    for run, folder in pulled.items():
        result = RunResult.from_document((folder / "result.json").read_text())
        assert result.profile is not None
        assert result.profile.window.steps == yaml_window()["steps"]
        reports = sorted(path.name for path in (folder / "profile").iterdir())
        assert reports == [f"rank-{rank}.nsys-rep" for rank in range(result.parameters.gpus)]
        listed = {artifact.path for artifact in result.artifacts}
        assert {f"profile/{report}" for report in reports} <= listed
        families = {name: family.calls for name, family in result.profile.families.items()}
        assert {n: family.calls for n, family in told[run].families.items()} == families
        assert told[run].overhead == pytest.approx(result.profile.overhead, rel=1e-5)


def yaml_window() -> dict[str, int]:
    spec = yaml.safe_load(SAMPLE.read_text(encoding="utf-8"))["spec"]
    window: dict[str, int] = spec["profiling"]["nsys"]
    return window


def test_nothing_of_the_pods_environment_is_in_a_report(pulled: dict[str, Path]) -> None:
    for folder in pulled.values():
        for report in (folder / "profile").iterdir():
            content = report.read_bytes()
            assert b"WORLD_SIZE" in content
            # The kubelet's and the supervisor's, which no list allows.
            assert b"KUBERNETES_" not in content
            assert b"GPUBENCH_TERMINATION_LOG" not in content


def test_prometheus_has_the_numbers_of_the_statuses(
    operator: OperatorProcess, benchmark: BenchmarkOnCluster, tmp_path: Path
) -> None:
    selector = f'{{namespace="{benchmark.namespace}",benchmark="{benchmark.name}"}}'
    told = profiles(benchmark)
    overhead = f"gpubench_run_profile_overhead_ratio{selector}"
    with running_prometheus(tmp_path, operator.port) as prometheus:
        wait_until("the scrape", lambda: len(prometheus.query(overhead)) == RUNS, timeout=30)
        found = {labels["run"]: value for labels, value in prometheus.query(overhead)}
        assert found == {run: profile.overhead for run, profile in told.items()}
        calls = prometheus.query(f"gpubench_run_profile_family_calls{selector}")
        assert {(labels["run"], labels["family"]): value for labels, value in calls} == {
            (run, family.value): numbers.calls
            for run, profile in told.items()
            for family, numbers in profile.families.items()
        }


def test_the_report_shows_them(benchmark: BenchmarkOnCluster, tmp_path: Path) -> None:
    benchmark.gpubench(tmp_path, "report", "--to=report")
    [page] = (path.read_text(encoding="utf-8") for path in tmp_path.rglob("report.html"))
    for profile in profiles(benchmark).values():
        assert max(profile.families, key=lambda f: profile.families[f].calls).value in page
