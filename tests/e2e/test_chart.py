"""The chart on a real cluster: installed, tested by itself, upgraded, rolled back, taken away."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.benchmarks import BenchmarkOnCluster, instant_spec
from tests.e2e.cluster import Cluster, ClusterError
from tests.e2e.instant_image import INSTANT_IMAGE, ensure_instant_image
from tests.e2e.product_images import TAG, ensure_product_image

CHART = Path(__file__).parents[2] / "charts" / "gpubench"
OPERATOR = "gpubench-operator"
FINALIZER = "gpubench.io/operator"
PATIENCE = "--timeout=5m"
NAMESPACED_KINDS = (
    "deployment,replicaset,pod,job,service,configmap,serviceaccount,role,rolebinding,lease,"
    "networkpolicy,poddisruptionbudget,secret"
)
OF_EVERY_NAMESPACE = {"kube-root-ca.crt", "default"}


@dataclass(frozen=True)
class Release:
    """The chart, installed for one namespace of benchmarks."""

    cluster: Cluster
    namespace: str
    served: str
    name: str = "gpubench"

    def helm(self, command: str, *arguments: str) -> str:
        return self.cluster.helm(
            command, *arguments, f"--namespace={self.namespace}", PATIENCE, timeout=330
        )

    def install_or_upgrade(self, command: str, **settings: int) -> str:
        values = {
            "namespaces": [self.served],
            "images": {"operator": {"tag": TAG}, "imageRecognition": {"tag": TAG}},
            "settings": {"allowedImages": [INSTANT_IMAGE], "simulatedGpus": True, **settings},
        }
        # Other tests apply the definitions by kubectl, as a user may have done.
        options = ("--take-ownership", "--wait", "--values=-")
        return self.cluster.helm(
            *(command, self.name, str(CHART), f"--namespace={self.namespace}", PATIENCE, *options),
            stdin=json.dumps(values),
            timeout=330,
        )

    def get(self, what: str, template: str) -> str:
        return self.cluster.kubectl(
            "get", what, f"--namespace={self.namespace}", f"--output=jsonpath={template}"
        )

    def setting(self) -> str:
        """The settings file as the operator reads it."""
        return self.get(f"configmap/{OPERATOR}", r"{.data.settings\.yaml}")

    def operator_pod(self) -> str:
        """Name of the pod that runs now."""
        names = self.cluster.kubectl(
            *("get", "pods", f"--namespace={self.namespace}"),
            "--selector=app.kubernetes.io/component=operator",
            "--output=jsonpath={.items[*].metadata.name}",
        )
        (name,) = names.split()
        return name


@pytest.fixture
def release(own_cluster: Cluster, namespace: str) -> Iterator[Release]:
    """A release whose image is on the node, not installed yet; what is left of it goes."""
    ensure_product_image("operator", own_cluster.layout)
    ensure_instant_image(own_cluster.layout)
    served = f"{namespace}-{secrets.token_hex(2)}"
    own_cluster.kubectl("create", "namespace", served)
    own_cluster.kubectl(
        *("label", "namespace", namespace, served),
        "pod-security.kubernetes.io/enforce=restricted",
    )
    a_release = Release(own_cluster, namespace, served)
    yield a_release
    installed = own_cluster.helm("list", "--all", "--short", f"--namespace={namespace}")
    if installed.strip():
        # Captured, so that a failure shows why the operator did not do what was expected.
        with suppress(ClusterError):
            print(own_cluster.kubectl("logs", f"deployment/{OPERATOR}", f"--namespace={namespace}"))
        own_cluster.helm("uninstall", a_release.name, f"--namespace={namespace}", "--no-hooks")
    for benchmark in own_cluster.kubectl("get", "gpub", "-o", "name", "-n", served).split():
        no_finalizers = '--patch={"metadata":{"finalizers":[]}}'
        own_cluster.kubectl("patch", benchmark, "-n", served, "--type=merge", no_finalizers)
    own_cluster.kubectl("delete", "namespace", served, "--timeout=120s", timeout=150)


def left_over(release: Release) -> set[str]:
    """What Kubernetes itself does not put into every namespace."""
    found = release.cluster.kubectl(
        *("get", NAMESPACED_KINDS, f"--namespace={release.namespace}"),
        "--output=jsonpath={range .items[*]}{.kind}/{.metadata.name} {end}",
    )
    roles = release.cluster.kubectl(
        *("get", "clusterrole,clusterrolebinding", "--output=jsonpath={.items[*].metadata.name}"),
    )
    return {name for name in found.split() if name.partition("/")[2] not in OF_EVERY_NAMESPACE} | {
        name for name in roles.split() if name.startswith(release.namespace)
    }


def test_install_test_upgrade_roll_back_and_uninstall(release: Release) -> None:
    notes = release.install_or_upgrade("install")
    assert f"helm --namespace {release.namespace} test gpubench" in notes
    assert "kubectl get gpubenchmarks --watch" in notes
    first_pod = release.operator_pod()

    assert "Succeeded" in release.helm("test", release.name)

    swept = BenchmarkOnCluster(release.cluster, release.served, "swept")
    swept.apply(instant_spec(seeds=2))
    swept.wait_for_phase("Completed")

    release.install_or_upgrade("upgrade", startTimeoutSeconds=900)
    assert "startTimeoutSeconds: 900" in release.setting()
    second_pod = release.operator_pod()
    assert second_pod != first_pod
    assert swept.status().phase == "Completed"

    release.helm("rollback", release.name, "1", "--wait")
    assert "startTimeoutSeconds: 1800" in release.setting()
    assert release.operator_pod() != second_pod

    # A run is under way when the operator goes.
    running = BenchmarkOnCluster(release.cluster, release.served, "running")
    running.apply(instant_spec("sleep=600"))
    running.wait_for("a running pod", lambda status: status.progress.running == 1)
    assert FINALIZER in running.read()["metadata"]["finalizers"]

    release.helm("uninstall", release.name, "--wait")
    assert left_over(release) == set()
    for benchmark in (swept, running):
        assert not benchmark.read()["metadata"].get("finalizers")
    assert running.children("pytorchjob") == []
    assert "Completed" in swept.read()["status"]["phase"], "results outlive the operator"
    swept.delete()
    running.delete()


def test_a_limited_operator_does_not_touch_other_namespaces(
    release: Release, own_cluster: Cluster
) -> None:
    release.install_or_upgrade("install")
    account = f"--as=system:serviceaccount:{release.namespace}:{OPERATOR}"
    for verb, resource, place, allowed in (
        ("create", "pytorchjobs.kubeflow.org", release.served, True),
        ("create", "pytorchjobs.kubeflow.org", "default", False),
        ("list", "gpubenchmarks.gpubench.io", "default", False),
        ("create", "pods", release.served, False),
        ("get", "secrets", release.served, False),
    ):
        question = ("auth", "can-i", verb, resource, f"--namespace={place}", account)
        try:
            answer = own_cluster.kubectl(*question).strip()
        except ClusterError:
            answer = "no"
        assert answer == ("yes" if allowed else "no"), (verb, resource, place)


def test_what_an_uninstallation_without_its_hook_leaves_is_one_patch_away(release: Release) -> None:
    release.install_or_upgrade("install")
    held = BenchmarkOnCluster(release.cluster, release.served, "held")
    held.apply(instant_spec())
    held.wait_for_phase("Completed")
    release.cluster.kubectl(
        *("scale", f"deployment/{OPERATOR}", "--replicas=0", f"--namespace={release.namespace}"),
    )
    release.cluster.helm(
        *("uninstall", release.name, f"--namespace={release.namespace}", "--no-hooks", "--wait"),
    )
    # What the hook would have done, by hand, as docs/install.md says.
    assert FINALIZER in held.read()["metadata"]["finalizers"]
    held.patch({"metadata": {"finalizers": []}})
    held.delete()
