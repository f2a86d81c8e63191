"""gpubench validate: check a file without running anything."""

from __future__ import annotations

from gpubench.cli.cluster_options import with_cluster_options
from gpubench.cli.errors import reported_errors
from gpubench.cli.inputs import BenchmarkFile, Overrides, read_benchmark
from gpubench.cluster import ClusterChoice


@with_cluster_options
def validate(
    file: BenchmarkFile, overrides: Overrides = None, cluster: ClusterChoice | None = None
) -> None:
    """Check a file: its fields, values and whole sweep; on a cluster by a dry run, too."""
    with reported_errors():
        from gpubench.sweep.expansion import expand

        benchmark = read_benchmark(file, overrides)
        plan = expand(benchmark)
        words = f"{file}: valid, {len(plan.points)} points, {len(plan.runs)} runs"
        if cluster is not None:
            from gpubench.cli.on_cluster.validating import validate_on_cluster

            words = f"{words}; {validate_on_cluster(benchmark, file, cluster)}"
        print(words)
