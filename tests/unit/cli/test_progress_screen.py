"""What a person sees while runs go on."""

from __future__ import annotations

from rich.console import Console

from gpubench.api.benchmark import GPUBenchmark, Progress
from gpubench.api.enums import AttemptState, FailureClass, RunPhase
from gpubench.api.progress import AttemptProgress, Stage
from gpubench.cli.progress_screen import LiveLine, Screenful, describe_ended, render
from gpubench.cli.run_here import line_of
from gpubench.lifecycle import ObservedAttempt
from gpubench.local.runner import AttemptEnded
from gpubench.sweep.expansion import expand

BENCHMARK = GPUBenchmark.model_validate(
    {
        "metadata": {"name": "demo"},
        "spec": {
            "workload": {"imageRecognition": {}},
            "sweep": {"matrix": {"gpus": [1, 2]}, "repetitions": 2},
        },
    }
)
RUNS = {run.name: run for run in expand(BENCHMARK).runs}
FIRST, *_, LAST = RUNS.values()


def screen(*live: LiveLine, eta: float | None = 190.0) -> str:
    progress = Progress(total=4, pending=1, running=1, succeeded=1, failed=1)
    console = Console(width=120, color_system=None)
    with console.capture() as captured:
        console.print(render(Screenful(progress, eta, live), RUNS, now=100.0))
    return captured.get()


def test_the_whole_in_one_line() -> None:
    text = screen()
    assert "runs 2/4" in text
    assert "1 valid, 1 failed" in text
    assert "ETA 0:01:30" in text


def test_a_live_run_with_epoch_step_speed_and_loss() -> None:
    progress = AttemptProgress(
        stage=Stage.TRAINING,
        epoch=2,
        epochs=3,
        step=12,
        steps=36,
        samples_per_second=1533.2,
        loss=0.4215,
    )
    text = screen(LiveLine(FIRST.name, progress))
    for words in ("gpus=1", "epoch 2/3 step 12/36", "1,533 samples/s", "loss 0.421"):
        assert words in text


def test_a_run_that_has_not_said_anything_yet() -> None:
    assert "starting" in screen(LiveLine(FIRST.name))


def test_time_to_go_is_not_guessed() -> None:
    assert "ETA unknown" in screen(eta=None)


def test_a_run_that_this_gpubench_does_not_know_has_its_name() -> None:
    assert "demo-other-1 running for 3s" in screen(LiveLine("demo-other-1", words="running for 3s"))


def test_a_finished_attempt_leaves_a_line() -> None:
    attempt = ObservedAttempt(
        1, AttemptState.SUCCEEDED, started_at=0.0, ended_at=12.3, throughput=640.0
    )
    ended = line_of(AttemptEnded(LAST, attempt, RunPhase.SUCCEEDED))
    assert (
        describe_ended(ended, RUNS).plain == "valid    gpus=2 (repetition 2)  640 samples/s  12.3 s"
    )


def test_a_failed_attempt_says_why() -> None:
    attempt = ObservedAttempt(
        2,
        AttemptState.FAILED,
        started_at=0.0,
        ended_at=1.0,
        failure=FailureClass.KILLED,
        message="rank 1 was killed by SIGKILL",
    )
    ended = line_of(AttemptEnded(FIRST, attempt, RunPhase.RETRYING))
    line = describe_ended(ended, RUNS).plain
    assert line.endswith("attempt 2: Killed: rank 1 was killed by SIGKILL")
    assert line.startswith("will be tried again gpus=1")
