"""gpubench pull: bring a benchmark's results from a cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from gpubench.cli.cluster_options import with_cluster_options
from gpubench.cli.errors import reported_errors
from gpubench.cli.inputs import DEFAULT_RESULTS, ResultsOption
from gpubench.cluster import ClusterChoice

START_SECONDS = 300.0


@with_cluster_options
def pull(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A benchmark on the cluster.")],
    output: ResultsOption = DEFAULT_RESULTS,
    image: Annotated[
        str | None,
        typer.Option(
            help="Image with python3 for the pod that reads the volume; by default that "
            "of the benchmark's own pods."
        ),
    ] = None,
    start_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="How long that pod may take to start.")
    ] = START_SECONDS,
    cluster: ClusterChoice | None = None,
) -> None:
    """Bring a benchmark's results folder from the cluster's volume, and verify it.

    What is here already is not brought again. Afterwards `gpubench report NAME` has everything
    that a local run has.
    """
    with reported_errors():
        from gpubench.cli.on_cluster.pulling import pull_results

        code = pull_results(name, cluster or ClusterChoice(), output, image, start_timeout)
        raise typer.Exit(code)
