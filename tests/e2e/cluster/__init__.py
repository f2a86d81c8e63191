"""A real Kubernetes with one node for the end-to-end tests, on a bare Debian machine, as root.

`python -m tests.e2e.cluster up|down|status` is what `make cluster-up` and its sisters call;
tests take the `cluster` fixture. docs/cluster.md tells how it works.
"""

from tests.e2e.cluster.cluster import Cluster
from tests.e2e.cluster.commands import ClusterError

__all__ = ["Cluster", "ClusterError"]
