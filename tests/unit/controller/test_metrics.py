"""The operator's own metrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gpubench.controller.cache import ClusterCache, read_run
from gpubench.controller.counters import ApiCounters, ReconcileCounters
from gpubench.controller.health import Health
from gpubench.controller.metrics import ClusterCollector
from gpubench.lifecycle import make_run_status
from tests.unit.controller.objects import RUN, body, own_pod, run
from tests.unit.lifecycle.observations import failed, observed_run, policy, succeeded
from tests.unit.lifecycle.results import good_result

OPERATOR_NAMES = [
    "gpubench_operator_api_errors",
    "gpubench_operator_api_requests",
    "gpubench_operator_benchmarks",
    "gpubench_operator_event_age_seconds",
    "gpubench_operator_leader",
    "gpubench_operator_queue_depth",
    "gpubench_operator_reconcile_failures",
    "gpubench_operator_reconcile_seconds",
    "gpubench_operator_runs",
]
"""Rules and dashboards know them."""


def exported(cluster: ClusterCache, health: Health | None = None) -> dict[str, dict[str, float]]:
    """Return values by name and last label, as they are read from the exposition."""
    registry = CollectorRegistry()
    api, _ = ApiCounters(registry), ReconcileCounters(registry)
    api.request("get")
    api.error(503)
    registry.register(ClusterCollector(cluster, health or Health()))
    text = generate_latest(registry).decode()
    return {
        family.name: {" ".join(s.labels.values()): s.value for s in family.samples}
        for family in text_string_to_metric_families(text)
    }


def cluster_of(status: dict[str, object]) -> ClusterCache:
    cluster = ClusterCache()
    cache = cluster.benchmark("uid-benchmark")
    cache.set_body(body() | {"status": {"phase": "Running"}})
    cache.put(run(status))
    return cluster


def test_names() -> None:
    found = {name for name in exported(ClusterCache()) if not name.endswith("_created")}
    assert sorted(n for n in found if n.startswith("gpubench_operator")) == OPERATOR_NAMES


def test_phases_are_counted_and_empty_ones_are_zero() -> None:
    status = make_run_status(observed_run(*[failed()] * 3), policy(), None, [], [], 500.0)
    found = exported(cluster_of(status.to_json_dict()))
    assert found["gpubench_operator_runs"]["Failed"] == 1
    assert sum(found["gpubench_operator_runs"].values()) == 1
    assert len(found["gpubench_operator_runs"]) == 6
    assert found["gpubench_operator_benchmarks"]["Running"] == 1


def test_finished_run_is_exported_with_its_parameters_and_numbers() -> None:
    result = good_result()
    status = make_run_status(observed_run(succeeded()), policy(), result, [], [], 500.0)
    found = exported(cluster_of(status.to_json_dict()))
    assert list(found["gpubench_run_samples_per_second"].values()) == [640.0]
    (labels,) = found["gpubench_run_info"]
    for word in (RUN.name, "imageRecognition", "mobilenet_v2", "digits", "DDP", "Valid"):
        assert word in labels


def test_run_of_a_benchmark_that_is_not_known_yet_is_not_exported() -> None:
    cluster = ClusterCache()
    cluster.benchmark("uid-benchmark").put(run())
    assert exported(cluster)["gpubench_run_info"] == {}


def test_leader() -> None:
    for leads in (True, False):
        found = exported(ClusterCache(), Health(is_leader=leads))
        assert found["gpubench_operator_leader"] == {"": float(leads)}


def test_benchmark_has_its_runs_by_phase() -> None:
    cluster = ClusterCache()
    cache = cluster.benchmark("uid-benchmark")
    progress = {"total": 3, "pending": 1, "succeeded": 2}
    cache.set_body(body() | {"status": {"phase": "Running", "progress": progress}})
    runs = exported(cluster)["gpubench_benchmark_runs"]
    assert runs["demo lab Succeeded"] == 2
    assert sum(runs.values()) == 3


def test_status_that_a_hand_has_broken_does_not_break_the_scrape() -> None:
    cluster = ClusterCache()
    cluster.benchmark("uid-benchmark").set_body(body() | {"status": {"phase": "Odd"}})
    assert exported(cluster)["gpubench_operator_benchmarks"]["Pending"] == 1


def test_a_running_pod_is_told_and_a_finished_one_is_not() -> None:
    cluster = cluster_of({})
    cache = next(cluster.benchmarks())
    cache.put(own_pod({"running": {"startedAt": "2026-11-21T08:00:00Z"}}))
    (labels,) = exported(cluster)["gpubench_run_pod_info"]
    assert RUN.name in labels
    finished = {"exitCode": 0, "startedAt": "2026-11-21T08:00:00Z"}
    finished["finishedAt"] = "2026-11-21T08:01:00Z"
    cache.put(own_pod({"terminated": finished}, version=9))
    assert exported(cluster)["gpubench_run_pod_info"] == {}


def test_runs_that_differ_in_gpus_only_share_a_scaling_group() -> None:
    four = run()
    four["spec"]["parameters"] = four["spec"]["parameters"] | {"gpus": 4}
    other = run()
    workload = other["spec"]["parameters"]["workload"]["imageRecognition"]
    workload |= {"workers": 7}
    groups = [read_run(item).parameters["scaling_group"] for item in (run(), four, other)]
    assert groups[0] == groups[1] != groups[2]
