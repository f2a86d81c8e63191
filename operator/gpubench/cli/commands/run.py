"""gpubench run: run a benchmark on this machine or on a cluster."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpubench.cli import exit_codes
from gpubench.cli.cluster_options import with_cluster_options
from gpubench.cli.errors import fail, reported_errors
from gpubench.cli.inputs import (
    DEFAULT_RESULTS,
    BenchmarkFile,
    Overrides,
    ResultsOption,
    read_benchmark,
)
from gpubench.cluster import ClusterChoice


class DeviceChoice(StrEnum):
    """What to train on."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


@with_cluster_options
def run(
    file: BenchmarkFile,
    output: ResultsOption = DEFAULT_RESULTS,
    overrides: Overrides = None,
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder below which relative dataset paths lie.")
    ] = Path(),
    device: Annotated[
        DeviceChoice, typer.Option(help="auto: as the file says, else the GPUs if there are any.")
    ] = DeviceChoice.AUTO,
    cluster: ClusterChoice | None = None,
) -> None:
    """Run a file on this machine, or go on with it; or apply it to a cluster and follow it.

    Here: runs that have a result are not run again; those that failed are. Ctrl-C stops all that
    runs and keeps what finished. On a cluster Ctrl-C only stops following. Ends with the report.
    """
    with reported_errors():
        chosen = [] if device is DeviceChoice.AUTO else [f"execution.device={device.upper()}"]
        if cluster is not None:
            from gpubench.cli.on_cluster.running import run_on_cluster

            if data != Path():
                message = "--data: on a cluster datasets lie in spec.execution.dataVolumeClaim"
                raise fail(message, exit_codes.BAD_INPUT)
            benchmark = read_benchmark(file, [*(overrides or ()), *chosen])
            raise typer.Exit(run_on_cluster(benchmark, file, cluster))

        from gpubench.api.enums import DeviceKind
        from gpubench.cli.run_here import run_here

        benchmark = read_benchmark(file, overrides)
        kind = DeviceKind(device.upper()) if chosen else None
        raise typer.Exit(run_here(benchmark, output, data, kind))
