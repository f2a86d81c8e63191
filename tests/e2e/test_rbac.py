"""The operator may do what its code does: the audit log beside the rules of the chart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.benchmarks import BenchmarkOnCluster, instant_spec
from tests.e2e.cluster import Cluster
from tests.e2e.cluster.commands import wait_until
from tests.e2e.instant_image import INSTANT_IMAGE, ensure_instant_image
from tests.e2e.operators import OperatorProcess

CHART = Path(__file__).parents[2] / "charts" / "gpubench"
TEMPLATES = ("rbac", "serviceaccount", "settings")

Right = tuple[str, str, str]
"""Verb, API group, resource with its subresource."""

NOT_SEEN_HERE: dict[Right, str] = {
    ("get", "gpubench.io", "gpubenchmarkruns"): "only after the answer to a creation was lost",
    ("update", "gpubench.io", "gpubenchmarks/finalizers"): "asked for by an admission plugin",
    ("update", "gpubench.io", "gpubenchmarkruns/finalizers"): "asked for by an admission plugin",
    ("watch", "trainer.kubeflow.org", "trainjobs"): "not installed on this cluster",
    ("delete", "trainer.kubeflow.org", "trainjobs"): "not installed on this cluster",
}


@dataclass(frozen=True)
class Account:
    """The operator's account as the chart makes it."""

    user: str
    kubeconfig: Path
    settings: dict[str, Any]
    rights: frozenset[Right]


@pytest.fixture(params=["one-namespace", "all-namespaces"])
def account(
    request: pytest.FixtureRequest, own_cluster: Cluster, namespace: str, tmp_path: Path
) -> Iterator[Account]:
    """An account with the chart's rules."""
    shown = [f"--show-only=templates/{name}.yaml" for name in TEMPLATES]
    values = [f"--set=settings.allowedImages={{{INSTANT_IMAGE}}}"]
    if request.param == "one-namespace":
        values.append(f"--set=namespaces={{{namespace}}}")
    rendered = own_cluster.helm(
        "template",
        "audited",
        str(CHART),
        f"--namespace={namespace}",
        "--kube-version=1.34",
        *shown,
        *values,
    )
    objects = [o for o in yaml.safe_load_all(rendered) if o]
    own_cluster.apply(yaml.safe_dump_all(objects))
    (name,) = [o["metadata"]["name"] for o in objects if o["kind"] == "ServiceAccount"]
    token = own_cluster.kubectl("create", "token", name, f"--namespace={namespace}").strip()
    config = yaml.safe_load(own_cluster.kubeconfig.read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": token}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")
    (settings,) = [o["data"] for o in objects if o["kind"] == "ConfigMap"]
    yield Account(
        user=f"system:serviceaccount:{namespace}:{name}",
        kubeconfig=kubeconfig,
        settings=yaml.safe_load(next(iter(settings.values()))),
        rights=frozenset(right for o in objects for right in rights_of(o)),
    )
    for o in objects:
        if o["kind"].startswith("ClusterRole"):
            own_cluster.kubectl("delete", o["kind"], o["metadata"]["name"])


def rights_of(role: dict[str, Any]) -> Iterator[Right]:
    for rule in role.get("rules", []):
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    yield verb, group, resource


def requests_of(audit_log: Path, user: str) -> list[dict[str, Any]]:
    lines = audit_log.read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines if user in line]
    return [e for e in entries if e["user"]["username"] == user and "objectRef" in e]


def right_of(entry: dict[str, Any]) -> Right:
    reference = entry["objectRef"]
    parts = (reference["resource"], reference.get("subresource"))
    return entry["verb"], reference.get("apiGroup", ""), "/".join(p for p in parts if p)


def test_the_operators_rights_are_those_that_it_uses(
    own_cluster: Cluster, namespace: str, account: Account, tmp_path: Path
) -> None:
    ensure_instant_image(own_cluster.layout)
    as_account = Cluster(account.kubeconfig, own_cluster.binaries, own_cluster.layout)
    operator = OperatorProcess(as_account, tmp_path, account.settings, namespace=namespace)
    operator.start()
    try:
        operator.wait_until_leading()
        use_everything(own_cluster, namespace)
        operator.stop()
        requests = requests_of(own_cluster.audit_log, account.user)
    finally:
        operator.kill()
    refused = {right_of(e) for e in requests if e["responseStatus"]["code"] == 403}
    assert refused == set()
    used = {right_of(entry) for entry in requests}
    assert account.rights - used == NOT_SEEN_HERE.keys() & account.rights
    assert used <= account.rights


def use_everything(cluster: Cluster, namespace: str) -> None:
    """Have the operator make, stop, lose, wait for and delete, with every backend."""

    def apply(
        name: str, action: str = "ok", seeds: int = 1, **execution: Any
    ) -> BenchmarkOnCluster:
        benchmark = BenchmarkOnCluster(cluster, namespace, name)
        spec = instant_spec(action, seeds, device="CPU", **execution)
        benchmark.apply(spec | {"results": {"baseline": "nothing"}})
        return benchmark

    jobs = apply("jobs", seeds=2, backend="Job")
    nowhere = apply("nowhere", backend="TrainJob")
    queued = apply("queued", queueName="nothing")
    slow = apply("slow", "sleep=600;ok")
    # What has run for less than a second is not recorded, and would be begun anew as attempt 1.
    wait_until("a record", lambda: any(run.attempts for run in slow.runs().values()), timeout=90)
    cluster.kubectl("delete", "pytorchjobs", "--all", f"--namespace={namespace}")
    slow.wait_for_phase("Completed")
    jobs.wait_for_phase("Completed")
    jobs.patch({"spec": {"sweep": {"matrix": {"seed": [0, 1, 2]}}, "suspend": True}})
    jobs.wait_for("another run", lambda status: status.progress.total == 3)
    jobs.patch({"spec": {"sweep": {"matrix": {"seed": [0, 1]}}}})
    wait_until("the end of the run", lambda: len(jobs.runs()) == 2, timeout=30)
    nowhere.wait_for_condition("Degraded", "BackendMissing")
    queued.wait_for_condition("Degraded", "QueueMissing")
    cluster.kubectl("create", "quota", "no", "--hard=pods=0", f"--namespace={namespace}")
    full = apply("full")
    full.wait_for_condition("Degraded", "QuotaExceeded")
    for benchmark in (jobs, nowhere, queued, slow, full):
        benchmark.delete()
