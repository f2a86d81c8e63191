"""gpubench validate on a cluster: whether the API server would take the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpubench.cli.on_cluster.applying import choice_for, manifest_of, problems_of
from gpubench.cluster import ClusterChoice, open_cluster

if TYPE_CHECKING:
    from pathlib import Path

    from gpubench.api.benchmark import GPUBenchmark


def validate_on_cluster(benchmark: GPUBenchmark, file: Path, choice: ClusterChoice) -> str:
    """Apply the benchmark without doing it; return in words who accepted it.

    Raises:
        SpecError: the API server refuses it.
        ClusterError: the cluster cannot be used.
    """
    with problems_of(file):
        cluster = open_cluster(choice_for(benchmark, choice))
        from gpubench.cluster.resources import apply

        apply(cluster, manifest_of(benchmark), dry_run=True)
    return f"accepted by {cluster.context} for namespace {cluster.namespace}"
