"""gpubench pull: the results folder of a benchmark, from the cluster's volume."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from gpubench.cli import exit_codes
from gpubench.cli.console import make_console
from gpubench.cli.stop_request import StopRequest
from gpubench.cli.times import utc_now
from gpubench.cluster import ClusterChoice, ClusterError, open_cluster
from gpubench.cluster.errors import StoppedError
from gpubench.store import ResultsFolder, ResultsFolderError

if TYPE_CHECKING:
    from gpubench.api.run import GPUBenchmarkRun
    from gpubench.cluster.pulling import Pull, PullProgress

INBOX = ".pulled"
"""Where files lie until an attempt is here as a whole."""


def pull_results(
    name: str, choice: ClusterChoice, output: Path, image: str | None, start_seconds: float
) -> int:
    """Bring what is not here yet, verify it, say so; return the exit code.

    Raises:
        ClusterError: there is no such benchmark or volume, or it cannot be read.
        ResultsFolderError: it cannot be written here.
    """
    cluster = open_cluster(choice)
    from gpubench.cli.on_cluster.reading import read_all
    from gpubench.cluster.pulled import check_origin, origin
    from gpubench.cluster.pulling import Pull, find_image
    from gpubench.cluster.resources import uid_of

    benchmark, runs = read_all(cluster, name)
    claim = benchmark.spec.results.volume_claim
    if claim is None:
        msg = f"{name}: its files were not kept, spec.results.volumeClaim names no volume"
        raise ClusterError(msg)
    console = make_console()
    uid = uid_of(benchmark)
    folder = ResultsFolder.create(output, name)
    with folder.lock.held(utc_now()), _writing(folder):
        check_origin(folder, uid)
        pull = Pull(cluster, benchmark, claim, image or find_image(benchmark, runs), start_seconds)
        try:
            brought = _bring(pull, folder, runs, console)
        except StoppedError:
            console.print("stopped; nothing is left in the cluster, the same command goes on")
            return exit_codes.INTERRUPTED
        folder.write_benchmark(origin(benchmark, cluster.namespace, uid))
        _tell(folder, runs, brought, console)
    console.print(f"gpubench report {name} --output {output}", soft_wrap=True, highlight=False)
    return exit_codes.OK


def _bring(pull: Pull, folder: ResultsFolder, runs: list[GPUBenchmarkRun], console: Console) -> int:
    from gpubench.cluster.pulled import (
        as_paths,
        attempts_here,
        attempts_over,
        attempts_that_run,
        move_in,
    )

    here = attempts_here(folder, runs)
    if attempts_over(runs) <= here:
        return 0
    inbox = folder.path / INBOX
    shutil.rmtree(inbox, ignore_errors=True)
    inbox.mkdir()
    stop = StopRequest()
    try:
        with stop.listening(), _shown(console, stop) as progress:
            pull.bring(inbox, as_paths(here | attempts_that_run(runs)), progress)
        return move_in(inbox, folder)
    finally:
        shutil.rmtree(inbox, ignore_errors=True)


@contextmanager
def _shown(console: Console, stop: StopRequest) -> Iterator[PullProgress]:
    """Show on a terminal how far it is."""
    from gpubench.cluster.pulling import PullProgress

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("starting a pod", total=None)
        yield PullProgress(
            on_words=lambda words: bar.update(task, description=words[:60]),
            on_bytes=lambda done, total: bar.update(
                task, description="results", completed=done, total=total
            ),
            should_stop=stop.is_requested,
        )


@contextmanager
def _writing(folder: ResultsFolder) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        msg = f"{error.filename or folder.path}: {error.strerror or error}"
        raise ResultsFolderError(msg) from None


def _tell(
    folder: ResultsFolder, runs: list[GPUBenchmarkRun], brought: int, console: Console
) -> None:
    from gpubench.cluster.pulled import verify

    found = verify(folder, runs)
    words = f"{brought} attempts brought" if brought else "nothing new"
    console.print(
        f"{folder.path}: {words}; {found.verified} results are what the statuses say",
        soft_wrap=True,
        highlight=False,
    )
    problems = [
        *(
            f"{each}: its result is not the one that its pod handed over"
            for each in found.different
        ),
        *(f"{each}: the volume holds no whole result" for each in found.absent),
    ]
    if problems:
        raise ClusterError("\n".join(problems))
