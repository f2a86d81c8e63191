"""gpubench run on a cluster: applies a benchmark and follows it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpubench.api.benchmark import Progress
from gpubench.cli import exit_codes
from gpubench.cli.console import make_console
from gpubench.cli.on_cluster.applying import choice_for, manifest_of, problems_of
from gpubench.cli.present import print_report
from gpubench.cli.progress_screen import EndedLine, LiveLine, ProgressScreen, Screenful
from gpubench.cli.stop_request import StopRequest
from gpubench.cli.times import short_duration
from gpubench.cluster import ClusterChoice, open_cluster
from gpubench.cluster.standing import EndedAttempt, LiveAttempt, Standing, bad_news, is_refused
from gpubench.sweep.expansion import expand

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from gpubench.api.benchmark import GPUBenchmark
    from gpubench.cluster.connection import Cluster


def run_on_cluster(benchmark: GPUBenchmark, file: Path, choice: ClusterChoice) -> int:
    """Apply a benchmark, follow it to its end with the report; return the exit code.

    Raises:
        SpecError: gpubench or the API server refuses the file.
        ClusterError: the cluster cannot be used.
    """
    plan = expand(benchmark)
    with problems_of(file):
        cluster = open_cluster(choice_for(benchmark, choice))
        from gpubench.cli.on_cluster.reading import read_report_input
        from gpubench.cluster.following import Audience, Follower
        from gpubench.cluster.resources import apply, get_benchmark

        apply(cluster, manifest_of(benchmark))
    console = make_console()
    screen = ProgressScreen(plan, console)
    audience = Audience(
        on_standing=lambda now: screen.show(screenful_of(now, len(plan.runs), time.time())),
        on_ended=lambda ended: screen.log(line_of(ended)),
        on_news=screen.tell,
    )
    follower = Follower(cluster, get_benchmark(cluster, benchmark.name), audience)
    done = f"{follower.finished} of {len(plan.runs)} runs finished, " if follower.finished else ""
    to_do = len(plan.runs) - follower.finished
    where = f"benchmark {benchmark.name} in namespace {cluster.namespace} of {cluster.context}"
    console.print(f"{where}: {done}{to_do} to run", soft_wrap=True, highlight=False)
    stop = StopRequest()
    with stop.listening(), screen:
        final = follower.follow(stop.is_requested)
    if stop.requested:
        _tell_how_to_go_on(cluster, benchmark.name, file, console)
        return exit_codes.INTERRUPTED
    if not follower.runs and is_refused(final):
        return exit_codes.BAD_INPUT
    print_report(read_report_input(cluster, final, follower.runs), console)
    _tell_what_is_next(cluster, final, console)
    return _exit_code(final)


def screenful_of(now: Standing, runs: int, time_now: float) -> Screenful:
    """Return what the screen shows of a benchmark of so many runs on a cluster."""
    return Screenful(
        # Until an operator has looked at it, all runs wait.
        progress=now.progress if now.progress.total else Progress(total=runs, pending=runs),
        estimated_completion_at=now.estimated_completion_at,
        live=[LiveLine(each.run, words=_words(each, time_now)) for each in now.live],
    )


def line_of(ended: EndedAttempt) -> EndedLine:
    """Return the line of an attempt that is over."""
    failure = ended.attempt.failure
    return EndedLine(
        run=ended.run,
        phase=ended.phase,
        attempt=ended.attempt.number,
        throughput=ended.throughput,
        seconds=ended.seconds,
        failure=failure.failure_class if failure else None,
        message=failure.message if failure else "",
    )


def _words(live: LiveAttempt, time_now: float) -> str:
    attempt = f"attempt {live.number}: " if live.number > 1 else ""
    if live.started_at is None:
        return f"{attempt}waits for its pod"
    return f"{attempt}running for {short_duration(time_now - live.started_at)}"


def _tell_how_to_go_on(cluster: Cluster, name: str, file: Path, console: Console) -> None:
    options = cluster.options
    lines = (
        "No longer following; the benchmark goes on in the cluster.",
        f"come back: gpubench run {file} {options}",
        f"look:      gpubench show {name} {options}",
        f"stop:      kubectl {options} patch gpub {name} --type merge -p "
        """'{"spec":{"suspend":true}}'""",
        f"remove:    kubectl {options} delete gpub {name}",
    )
    console.print("\n".join(lines), soft_wrap=True, highlight=False, markup=False)


def _tell_what_is_next(cluster: Cluster, benchmark: GPUBenchmark, console: Console) -> None:
    for sentence in bad_news(benchmark):
        console.print(sentence, style="yellow", soft_wrap=True, highlight=False, markup=False)
    if benchmark.spec.suspend:
        console.print("suspended; with suspend: false it goes on", highlight=False)
    if benchmark.spec.results.volume_claim:
        command = f"gpubench pull {benchmark.name} {cluster.options}"
        console.print(f"all files of the runs: {command}", soft_wrap=True, highlight=False)


def _exit_code(benchmark: GPUBenchmark) -> int:
    progress = benchmark.status.progress if benchmark.status else None
    if progress is None or progress.succeeded < progress.total:
        return exit_codes.RUNS_NOT_VALID
    return exit_codes.OK
