"""The cluster that end-to-end tests run on.

It is the one that KUBECONFIG names; without that, the one of tests/e2e/cluster, which is started
when nothing of it runs, and then taken down at the end.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.cluster.cluster import down, up
from tests.e2e.cluster.layout import Layout
from tests.e2e.cluster.packages import obstacle
from tests.e2e.cluster.processes import own_processes


def pytest_itemcollected(item: pytest.Item) -> None:
    """The first test on the cluster may have to build Kubernetes."""
    if "cluster" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.slow)
        item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A running cluster."""
    layout = Layout.of_environment()
    given = os.environ.get("KUBECONFIG")
    if given and Path(given) != layout.kubeconfig:
        yield Cluster(Path(given))
        return
    reason = obstacle()
    if reason and os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; CI must run these tests, or name a cluster in KUBECONFIG")
    if reason:
        pytest.skip(f"{reason}; or name another cluster in KUBECONFIG")
    found_running = bool(own_processes(layout.state))
    yield up(layout, lambda text: print(f"cluster: {text}"))
    if not found_running:
        down(layout)


@pytest.fixture
def own_cluster(cluster: Cluster) -> Cluster:
    """Our own cluster, for tests that end its parts or bring images to its node."""
    if cluster.layout is None:
        pytest.skip("needs the cluster of make cluster-up: it touches the cluster's own parts")
    return cluster


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A new namespace, which goes with all that is in it."""
    name = f"e2e-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--timeout=120s", timeout=150)
