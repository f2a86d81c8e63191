"""The images as they are on the node: size, contents, labels, and any user."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.cluster.commands import run, wait_until
from tests.e2e.cluster.images import BASE_IMAGE
from tests.e2e.cluster.layout import Layout
from tests.e2e.product_images import LOCKS, buildah, ensure_product_image, image_config, image_name

REPOSITORY = Path(__file__).parents[2]
MEGABYTE = 10**6
RANDOM_USER = 1_234_567

PROBE = """
import getpass, importlib.util, json, os
print(json.dumps({
    "user": [os.getuid(), getpass.getuser()],
    "torch": importlib.util.find_spec("torch") is not None,
    "torchtune": importlib.util.find_spec("torchtune") is not None,
    "workloads": importlib.util.find_spec("gpubench_workloads") is not None,
    "writable": [p for p in ("/opt/gpubench", "/etc", "/usr") if os.access(p, os.W_OK)],
    "home": os.access(os.environ["HOME"], os.W_OK),
}))
"""
ENTRY_POINTS = {
    "operator": "gpubench-operator",
    "image-recognition": "gpubench-run",
    "llm-tuning": "gpubench-run",
}


@pytest.fixture(params=LOCKS)
def product_image(request: pytest.FixtureRequest, own_cluster: Cluster) -> str:
    """Name of an image, which is built and on the node."""
    ensure_product_image(request.param, own_cluster.layout)
    return str(request.param)


def layout_of(cluster: Cluster) -> Layout:
    assert cluster.layout is not None
    return cluster.layout


def bytes_of(image: str, layout: Layout) -> int:
    """How many bytes the layers have, unpacked."""
    (found,) = json.loads(run(*buildah(layout), "images", "--json", image))
    number, unit = re.fullmatch(r"([\d.]+) ([KMG]?B)", found["size"]).groups()  # type: ignore[union-attr]
    return int(float(number) * {"B": 1, "KB": 10**3, "MB": MEGABYTE, "GB": 10**9}[unit])


def test_an_image_says_what_it_is(own_cluster: Cluster, product_image: str) -> None:
    config = image_config(image_name(product_image), layout_of(own_cluster))
    labels: dict[str, str] = config["Labels"]
    version = re.search(r'^version = "(.+)"', (REPOSITORY / "pyproject.toml").read_text(), re.M)
    assert version
    assert labels["org.opencontainers.image.version"] == version[1]
    assert re.match(r"[0-9a-f]{40}|unknown", labels["org.opencontainers.image.revision"])
    assert labels["org.opencontainers.image.title"].startswith("gpubench ")
    assert labels["org.opencontainers.image.source"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == [ENTRY_POINTS[product_image]]


def test_the_operators_image_is_small(own_cluster: Cluster) -> None:
    layout = layout_of(own_cluster)
    ensure_product_image("operator", layout)
    added = bytes_of(image_name("operator"), layout) - bytes_of(BASE_IMAGE, layout)
    assert 0 < added < 200 * MEGABYTE


def test_any_user_can_run_an_image_whose_root_is_read_only(
    own_cluster: Cluster, namespace: str, product_image: str
) -> None:
    security = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    container: dict[str, Any] = {
        "image": image_name(product_image),
        "imagePullPolicy": "Never",
        "securityContext": security,
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    help_container = {**container, "name": "help", "args": ["--help"]}
    probe_container = {**container, "name": "probe", "command": ["python", "-c", PROBE]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe", "namespace": namespace},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": RANDOM_USER,
                "runAsGroup": RANDOM_USER,
                "fsGroup": RANDOM_USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [help_container, probe_container],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        },
    }
    own_cluster.apply(json.dumps(pod))
    where = ("pod/probe", f"--namespace={namespace}")

    def phase() -> str:
        return own_cluster.kubectl("get", *where, "--output=jsonpath={.status.phase}")

    wait_until("the pod's end", lambda: phase() in ("Succeeded", "Failed"), timeout=180)
    probe = own_cluster.kubectl("logs", *where, "--container=probe")
    usage = own_cluster.kubectl("logs", *where, "--container=help")
    assert phase() == "Succeeded", probe + usage
    assert ENTRY_POINTS[product_image] in usage
    is_workload = product_image != "operator"
    assert json.loads(probe) == {
        "user": [RANDOM_USER, "gpubench"],
        "torch": is_workload,
        "torchtune": product_image == "llm-tuning",
        "workloads": is_workload,
        "writable": [],
        "home": True,
    }


def test_building_again_changes_nothing(own_cluster: Cluster, product_image: str) -> None:
    layout = layout_of(own_cluster)
    before = run(*buildah(layout), "images", "--quiet", "--no-trunc", image_name(product_image))
    ensure_product_image(product_image, layout)
    after = run(*buildah(layout), "images", "--quiet", "--no-trunc", image_name(product_image))
    assert after == before
