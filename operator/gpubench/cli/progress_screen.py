"""The screen while runs go on: one line for the whole, one for each live run."""

from __future__ import annotations

import time
from datetime import timedelta

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gpubench.api.enums import RunPhase
from gpubench.api.progress import AttemptProgress
from gpubench.local.runner import AttemptEnded, Listener, Snapshot
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


class ProgressScreen:
    """Shows a benchmark's progress on a terminal; elsewhere prints a line per finished attempt."""

    def __init__(self, plan: Plan, console: Console) -> None:
        """Show the runs of `plan` on `console`."""
        self._runs = {run.name: run for run in plan.runs}
        self._console = console
        self._live = Live(
            console=console, refresh_per_second=4, transient=True, auto_refresh=console.is_terminal
        )

    @property
    def listener(self) -> Listener:
        """What a runner tells."""
        return Listener(on_snapshot=self._show, on_attempt_ended=self._log)

    def __enter__(self) -> ProgressScreen:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def _show(self, snapshot: Snapshot) -> None:
        if self._console.is_terminal:
            self._live.update(render(snapshot, self._runs, time.time()))

    def _log(self, ended: AttemptEnded) -> None:
        self._console.print(describe_ended(ended), highlight=False, soft_wrap=True)


def render(snapshot: Snapshot, runs: dict[str, Run], now: float) -> RenderableType:
    """Return the screen at a moment; `now` in seconds since the epoch."""
    progress = snapshot.summary.progress
    table = Table.grid(padding=(0, 1))
    for name, attempt in snapshot.live.items():
        table.add_row(*_live_cells(runs[name], attempt))
    overall = Table.grid(padding=(0, 1))
    overall.add_row(
        Text(f"runs {progress.finished}/{progress.total}", style="bold"),
        ProgressBar(total=max(progress.total, 1), completed=progress.finished, width=BAR_WIDTH),
        Text(_counts(snapshot)),
        Text(f"ETA {_time_to_go(snapshot, now)}"),
    )
    return Group(table, overall)


def describe_run(run: Run) -> str:
    """Return what sets a run apart: its point's parameters, and the repetition after the first."""
    repetition = f" (repetition {run.repetition})" if run.repetition > 1 else ""
    return f"{run.point.describe()}{repetition}"


def describe_ended(ended: AttemptEnded) -> Text:
    """Return the line that a finished attempt leaves on the screen."""
    attempt = ended.attempt
    line = Text()
    line.append(f"{PHASE_WORDS.get(ended.phase, ended.phase):<8}", PHASE_STYLES.get(ended.phase))
    line.append(f" {describe_run(ended.run)}")
    if attempt.throughput is not None:
        line.append(f"  {attempt.throughput:,.0f} samples/s", style="cyan")
    if attempt.seconds is not None:
        line.append(f"  {attempt.seconds:.1f} s", style="dim")
    if attempt.failure is not None:
        line.append(f"  attempt {attempt.number}: {attempt.failure}: {attempt.message}")
    return line


def _live_cells(run: Run, progress: AttemptProgress | None) -> list[RenderableType]:
    point = Text(describe_run(run), style="bold")
    if progress is None:
        return [point, Text("starting", style="dim")]
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


def _counts(snapshot: Snapshot) -> str:
    progress = snapshot.summary.progress
    words = [
        (progress.succeeded, "valid"),
        (progress.invalid, "invalid"),
        (progress.failed, "failed"),
    ]
    return ", ".join(f"{count} {word}" for count, word in words if count)


def _time_to_go(snapshot: Snapshot, now: float) -> str:
    at = snapshot.summary.estimated_completion_at
    if at is None:
        return "unknown until a run is done"
    return str(timedelta(seconds=round(max(at - now, 0))))
