"""gpubench logs on a cluster: what the pod of an attempt printed."""

from __future__ import annotations

import sys

from gpubench.cluster import ClusterChoice, NotFoundError, open_cluster


def print_log_on_cluster(name: str, attempt: int | None, choice: ClusterChoice) -> None:
    """Print the log of a run's attempt.

    Raises:
        ClusterError: there is no such run or attempt, its pod is gone, or cannot be asked.
    """
    cluster = open_cluster(choice)
    from gpubench.cluster.pod_logs import attempt_of, read_log
    from gpubench.cluster.resources import check_namespace, find_run

    run = find_run(cluster, name)
    if run is None:
        check_namespace(cluster)
        msg = (
            f"{name}: no such run in namespace {cluster.namespace}; "
            f"`gpubench show NAME {cluster.options}` lists a benchmark's runs"
        )
        raise NotFoundError(msg)
    for piece in read_log(cluster, run, attempt_of(run, attempt)):
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
