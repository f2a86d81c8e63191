"""The screen while runs go on: one line for the whole, one for each live run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gpubench.api.benchmark import Progress
from gpubench.api.enums import FailureClass, RunPhase
from gpubench.api.progress import AttemptProgress
from gpubench.sweep.plan import Plan, Run

BAR_WIDTH = 24
PHASE_STYLES = {
    RunPhase.SUCCEEDED: "green",
    RunPhase.INVALID: "yellow",
    RunPhase.FAILED: "red",
    RunPhase.RETRYING: "yellow",
    RunPhase.PENDING: "yellow",
}
PHASE_WORDS = {
    RunPhase.SUCCEEDED: "valid",
    RunPhase.INVALID: "invalid",
    RunPhase.FAILED: "failed",
    RunPhase.RETRYING: "will be tried again",
    RunPhase.PENDING: "stopped",
}


@dataclass(frozen=True)
class LiveLine:
    """A run with a live attempt."""

    run: str
    progress: AttemptProgress | None = None
    """How far it is, where it tells."""
    words: str = "starting"
    """What is known of it where it does not tell."""


@dataclass(frozen=True)
class Screenful:
    """What the screen shows: the whole, and the live runs."""

    progress: Progress
    estimated_completion_at: float | None
    """Seconds since the epoch."""
    live: Sequence[LiveLine]


@dataclass(frozen=True)
class EndedLine:
    """An attempt that is over, and where its run stands after it."""

    run: str
    phase: RunPhase
    attempt: int
    throughput: float | None = None
    seconds: float | None = None
    failure: FailureClass | None = None
    message: str = ""


class ProgressScreen:
    """Shows a benchmark's progress on a terminal; elsewhere prints a line per finished attempt."""

    def __init__(self, plan: Plan, console: Console) -> None:
        """Show the runs of `plan` on `console`."""
        self._runs = {run.name: run for run in plan.runs}
        self._console = console
        self._live = Live(
            console=console, refresh_per_second=4, transient=True, auto_refresh=console.is_terminal
        )

    def __enter__(self) -> ProgressScreen:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def show(self, screenful: Screenful) -> None:
        """Show this from now on."""
        if self._console.is_terminal:
            self._live.update(render(screenful, self._runs, time.time()))

    def log(self, ended: EndedLine) -> None:
        """Leave a line about an attempt that is over."""
        line = describe_ended(ended, self._runs)
        self._console.print(line, highlight=False, soft_wrap=True)

    def tell(self, sentence: str) -> None:
        """Leave a sentence on the screen."""
        self._console.print(Text(sentence, style="yellow"), soft_wrap=True)


def render(screenful: Screenful, runs: Mapping[str, Run], now: float) -> RenderableType:
    """Return the screen at a moment; `now` in seconds since the epoch."""
    progress = screenful.progress
    table = Table.grid(padding=(0, 1))
    for line in screenful.live:
        table.add_row(*_live_cells(line, runs))
    overall = Table.grid(padding=(0, 1))
    overall.add_row(
        Text(f"runs {progress.finished}/{progress.total}", style="bold"),
        ProgressBar(total=max(progress.total, 1), completed=progress.finished, width=BAR_WIDTH),
        Text(_counts(progress)),
        Text(f"ETA {_time_to_go(screenful, now)}"),
    )
    return Group(table, overall)


def describe_run(name: str, runs: Mapping[str, Run]) -> str:
    """Return what sets a run apart: its point's parameters, and the repetition after the first.

    A run that the sweep, as it is known here, does not contain has its name.
    """
    run = runs.get(name)
    if run is None:
        return name
    repetition = f" (repetition {run.repetition})" if run.repetition > 1 else ""
    return f"{run.point.describe()}{repetition}"


def describe_ended(ended: EndedLine, runs: Mapping[str, Run]) -> Text:
    """Return the line that a finished attempt leaves on the screen."""
    line = Text()
    line.append(f"{PHASE_WORDS.get(ended.phase, ended.phase):<8}", PHASE_STYLES.get(ended.phase))
    line.append(f" {describe_run(ended.run, runs)}")
    if ended.throughput is not None:
        line.append(f"  {ended.throughput:,.0f} samples/s", style="cyan")
    if ended.seconds is not None:
        line.append(f"  {ended.seconds:.1f} s", style="dim")
    if ended.failure is not None:
        line.append(f"  attempt {ended.attempt}: {ended.failure}: {ended.message}")
    return line


def _live_cells(line: LiveLine, runs: Mapping[str, Run]) -> list[RenderableType]:
    point = Text(describe_run(line.run, runs), style="bold")
    progress = line.progress
    if progress is None:
        return [point, Text(line.words, style="dim")]
    if not progress.steps:
        return [point, Text(progress.stage.lower(), style="dim")]
    speed = f"{progress.samples_per_second:,.0f} samples/s" if progress.samples_per_second else ""
    loss = f"loss {progress.loss:.3f}" if progress.loss is not None else ""
    return [
        point,
        Text(progress.stage.lower(), style="dim"),
        ProgressBar(total=progress.steps, completed=progress.step, width=BAR_WIDTH),
        Text(f"epoch {progress.epoch}/{progress.epochs} step {progress.step}/{progress.steps}"),
        Text(speed, style="cyan"),
        Text(loss, style="dim"),
    ]


def _counts(progress: Progress) -> str:
    words = [
        (progress.succeeded, "valid"),
        (progress.invalid, "invalid"),
        (progress.failed, "failed"),
    ]
    return ", ".join(f"{count} {word}" for count, word in words if count)


def _time_to_go(screenful: Screenful, now: float) -> str:
    at = screenful.estimated_completion_at
    if at is None:
        return "unknown until a run is done"
    return str(timedelta(seconds=round(max(at - now, 0))))
