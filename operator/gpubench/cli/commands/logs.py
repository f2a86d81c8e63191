"""gpubench logs: what a run printed."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gpubench.cli.cluster_options import with_cluster_options
from gpubench.cli.errors import reported_errors
from gpubench.cli.inputs import DEFAULT_RESULTS, ResultsOption
from gpubench.cluster import ClusterChoice


@with_cluster_options
def logs(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Name of a run.")],
    attempt: Annotated[
        int | None, typer.Option(help="Which attempt; by default the last.", min=1)
    ] = None,
    output: ResultsOption = DEFAULT_RESULTS,
    cluster: ClusterChoice | None = None,
) -> None:
    """Print the log of a run's attempt, on a cluster that of its pod."""
    with reported_errors():
        if cluster is not None:
            from gpubench.cli.on_cluster.printing_logs import print_log_on_cluster

            print_log_on_cluster(run, attempt, cluster)
            return
        from gpubench.api.layout import LOG_FILE
        from gpubench.store import ResultsFolderError, list_benchmarks

        for folder in list_benchmarks(output):
            attempts = {stored.number: stored for stored in folder.attempts(run)}
            if not attempts:
                continue
            number = attempt or max(attempts)
            if number not in attempts:
                numbers = ", ".join(str(n) for n in attempts)
                msg = f"--attempt {number}: {run} has attempts {numbers}"
                raise ResultsFolderError(msg)
            log = attempts[number].path / LOG_FILE
            if log.exists():
                sys.stdout.write(log.read_text(encoding="utf-8", errors="replace"))
            return
        msg = f"{run}: no such run in {output}; `gpubench show NAME` lists a benchmark's runs"
        raise ResultsFolderError(msg)
