"""Every way in which a run can go wrong on one machine, with real processes."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from gpubench.analysis.inputs import ReportRun, Verdict
from gpubench.api.enums import FailureClass, GateName
from gpubench.cli import exit_codes
from tests.integration.local.commands import (
    read_results,
    run_to_end,
    running,
    small_benchmark,
    wait_until_gone,
)

LONG_RUN = "{imageRecognition: {dataset: {name: digits}, imageSize: 32, epochs: 500, workers: 0}}"


def write(folder: Path, text: str) -> tuple[Path, Path]:
    """Write the benchmark `demo`; return its file and a results folder."""
    file = folder / "demo.yaml"
    file.write_text(text, encoding="utf-8")
    return file, folder / "results"


def only_run(results: Path) -> ReportRun:
    [run] = read_results(results, "demo").runs
    return run


def failure_class(run: ReportRun) -> FailureClass:
    assert run.failure is not None
    return run.failure.failure_class


def test_a_good_run_is_valid_and_complete(tmp_path: Path) -> None:
    file, results = write(tmp_path, small_benchmark("demo", gpus="2"))
    code, output = run_to_end(file, results)
    assert code == exit_codes.OK, output
    run = only_run(results)
    assert run.verdict is Verdict.VALID
    assert run.result is not None
    assert {artifact.path for artifact in run.result.artifacts} == {"steps.parquet", "log"}
    assert run.result.work is not None
    assert run.result.work.samples_trained == [96, 96]
    assert (results / "demo" / "report.html").exists()


def test_a_loss_that_is_not_a_number_is_not_tried_again(tmp_path: Path) -> None:
    workload = small_benchmark("demo").replace("workers: 0", 'workers: 0, learningRate: "1e30"')
    file, results = write(tmp_path, workload)
    code, output = run_to_end(file, results)
    assert code == exit_codes.RUNS_NOT_VALID, output
    run = only_run(results)
    assert failure_class(run) is FailureClass.NON_FINITE_LOSS
    assert len(run.attempts) == 1


def test_a_failed_point_does_not_stop_the_others(tmp_path: Path) -> None:
    sweep = '{matrix: {learningRate: ["1e30", "0.001"]}}'
    file, results = write(tmp_path, small_benchmark("demo", sweep=sweep))
    code, _ = run_to_end(file, results)
    assert code == exit_codes.RUNS_NOT_VALID
    verdicts = [run.verdict for run in read_results(results, "demo").runs]
    assert verdicts == [Verdict.FAILED, Verdict.VALID]


def test_a_spent_failure_budget_does(tmp_path: Path) -> None:
    sweep = '{matrix: {learningRate: ["1e30", "0.001"]}}'
    execution = "{failureBudget: 0}"
    file, results = write(tmp_path, small_benchmark("demo", sweep=sweep, execution=execution))
    code, _ = run_to_end(file, results)
    assert code == exit_codes.RUNS_NOT_VALID
    verdicts = [run.verdict for run in read_results(results, "demo").runs]
    assert verdicts == [Verdict.FAILED, Verdict.MISSING]


def test_a_model_that_does_not_exist_is_a_bad_spec(tmp_path: Path) -> None:
    text = small_benchmark("demo").replace("workers: 0", "workers: 0, model: mobilenet_v22")
    file, results = write(tmp_path, text)
    run_to_end(file, results)
    run = only_run(results)
    assert failure_class(run) is FailureClass.BAD_SPEC
    assert run.failure is not None
    assert "mobilenet_v2" in run.failure.message


def test_a_result_below_its_floor_is_invalid_and_a_lower_floor_needs_no_new_run(
    tmp_path: Path,
) -> None:
    acceptance = '{acceptance: [{metric: accuracy, atLeast: "0.999"}]}'
    file, results = write(tmp_path, small_benchmark("demo", results=acceptance))
    code, _ = run_to_end(file, results)
    assert code == exit_codes.RUNS_NOT_VALID
    run = only_run(results)
    assert run.verdict is Verdict.INVALID
    assert run.result is not None
    assert run.result.validity is not None
    assert [gate.name for gate in run.result.validity.failed_gates] == [GateName.ACCEPTANCE]
    file.write_text(small_benchmark("demo", results=acceptance.replace("0.999", "0")))
    code, _ = run_to_end(file, results)
    assert code == exit_codes.OK
    assert len(only_run(results).attempts) == 1


@pytest.mark.parametrize(
    ("execution", "expected"),
    [
        ("{timeoutSeconds: 12, retryLimit: 0}", FailureClass.TIMEOUT),
        ("{noProgressSeconds: 25, retryLimit: 0}", FailureClass.NO_PROGRESS),
    ],
)
def test_deadlines(tmp_path: Path, execution: str, expected: FailureClass) -> None:
    text = small_benchmark("demo", workload=LONG_RUN, execution=execution)
    file, results = write(tmp_path, text)
    with running(file, results) as command:
        [rank] = command.wait_for_ranks()
        if expected is FailureClass.NO_PROGRESS:
            rank.send_signal(signal.SIGSTOP)
        code, output = command.finish()
    assert code == exit_codes.RUNS_NOT_VALID, output
    assert failure_class(only_run(results)) is expected
    assert wait_until_gone(results, 5) == []


def test_a_rank_that_is_killed_makes_a_new_attempt(tmp_path: Path) -> None:
    file, results = write(tmp_path, small_benchmark("demo", gpus="2"))
    with running(file, results) as command:
        command.wait_for_ranks()[0].kill()
        code, output = command.finish()
    assert code == exit_codes.OK, output
    first, second = only_run(results).attempts
    assert first.failure is not None
    assert first.failure.failure_class is FailureClass.KILLED
    assert second.is_valid


def test_ctrl_c_ends_all_within_five_seconds_and_keeps_what_finished(tmp_path: Path) -> None:
    sweep = "{matrix: {epochs: [1, 500]}}"
    file, results = write(
        tmp_path, small_benchmark("demo", sweep=sweep, execution="{isolation: ExclusiveNode}")
    )
    with running(file, results) as command:
        assert command.process.stdout is not None
        assert any(line.startswith("valid") for line in command.process.stdout)
        command.wait_for_ranks()
        asked = time.monotonic()
        command.process.send_signal(signal.SIGINT)
        while command.supervisors() or command.ranks():
            time.sleep(0.05)
        assert time.monotonic() - asked < 5
        code, _ = command.finish(60)
    assert wait_until_gone(results, 5) == []
    assert code == exit_codes.INTERRUPTED
    done, stopped = read_results(results, "demo").runs
    assert (done.verdict, stopped.verdict) == (Verdict.VALID, Verdict.MISSING)
    assert failure_class(stopped) is FailureClass.PREEMPTED
    file.write_text(file.read_text().replace("500", "2"), encoding="utf-8")
    assert run_to_end(file, results)[0] == exit_codes.OK
    done, _ = read_results(results, "demo").runs
    assert len(done.attempts) == 1


def test_nothing_outlives_gpubench_run(tmp_path: Path) -> None:
    file, results = write(tmp_path, small_benchmark("demo", workload=LONG_RUN, gpus="2"))
    with running(file, results) as command:
        command.wait_for_ranks()
        command.process.kill()
        command.process.wait()
        assert wait_until_gone(results, 5) == []
