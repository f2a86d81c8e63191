"""The user's side of a cluster: reads benchmarks, applies them, follows them, brings results.

It decides nothing: the operator does. Nothing of the Kubernetes client is imported before
`open_cluster` is called, so that commands without a cluster need no such package.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench.cluster.errors import ClusterError, NotFoundError

if TYPE_CHECKING:
    from gpubench.cluster.connection import Cluster

__all__ = ["ClusterChoice", "ClusterError", "NotFoundError", "open_cluster"]


@dataclass(frozen=True)
class ClusterChoice:
    """Which cluster and namespace a user means; as kubectl does where nothing is said."""

    context: str | None = None
    namespace: str | None = None
    kubeconfig: Path | None = None


def open_cluster(choice: ClusterChoice) -> Cluster:
    """Connect to the cluster that the choice and the kubeconfig name.

    Raises:
        ClusterError: the Kubernetes client is not installed, or there is no such cluster.
    """
    try:
        from gpubench.cluster.connection import connect
    except ModuleNotFoundError as error:
        msg = f"a cluster needs the package {error.name}: gpubench[cluster] has it"
        raise ClusterError(msg) from None
    return connect(choice)
