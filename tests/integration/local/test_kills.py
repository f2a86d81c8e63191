"""kill -9 of anything at any moment: nothing is lost, nothing counts twice, numbers stay right."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import psutil
import pytest

from gpubench.analysis.inputs import Verdict
from gpubench.analysis.timeless import timeless_view
from gpubench.cli import exit_codes
from tests.integration.local.commands import (
    RunCommand,
    read_results,
    run_to_end,
    running,
    small_benchmark,
    wait_until_gone,
)

LONGEST_WAIT_SECONDS = 12.0
"""From its start a run takes about this long to its end, so that any moment may be hit."""
SEED = int(os.environ.get("GPUBENCH_TEST_SEED", "0")) or random.randrange(2**31)
TRAINING = {"sweep": "{matrix: {gpus: [1, 2], strategy: [DDP, DDP-DS]}, repetitions: 1}"}
TUNING = {
    "workload": (
        "{llmTuning: {model: tiny-llama, dataset: {name: alpaca-cleaned, source: Synthetic}, "
        "sequenceLength: 128, precision: FP32, warmupSteps: 2, maxSteps: 14, "
        "activationCheckpointing: Disabled}}"
    ),
    "sweep": "{matrix: {gpus: [1, 2], method: [LoRA, Full]}}",
}


def kill_something(command: RunCommand, chance: random.Random) -> str | None:
    """Kill a rank, a supervisor or gpubench itself; return which, None if there was nothing."""
    targets = {
        "rank": command.ranks(),
        "supervisor": command.supervisors(),
        "gpubench run": [psutil.Process(command.process.pid)],
    }
    kind = chance.choice([name for name, processes in targets.items() if processes])
    try:
        chance.choice(targets[kind]).kill()
    except psutil.NoSuchProcess:
        return None
    return kind


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("kills", "parts"), [(50, TRAINING), (6, TUNING)], ids=["training", "tuning"]
)
def test_kills_at_random_moments(tmp_path: Path, kills: int, parts: dict[str, str]) -> None:
    print(f"GPUBENCH_TEST_SEED={SEED}")
    chance = random.Random(SEED)
    file = tmp_path / "demo.yaml"
    file.write_text(small_benchmark("demo", **parts), encoding="utf-8")
    code, output = run_to_end(file, tmp_path / "undisturbed")
    assert code == exit_codes.OK, output
    undisturbed = timeless_view(read_results(tmp_path / "undisturbed", "demo"))

    killed: list[str] = []
    round_number = 0
    while len(killed) < kills:
        round_number += 1
        results = tmp_path / f"round-{round_number}"
        code = exit_codes.RUNS_NOT_VALID
        while code != exit_codes.OK:
            code = disturbed_run(file, results, chance, killed, kills)
            assert wait_until_gone(results, 10) == []
        disturbed = read_results(results, "demo")
        assert [run.verdict for run in disturbed.runs] == [Verdict.VALID] * 4
        for run in disturbed.runs:
            assert sum(attempt.is_valid for attempt in run.attempts) == 1
        assert timeless_view(disturbed) == undisturbed
    print({kind: killed.count(kind) for kind in sorted(set(killed))}, "rounds:", round_number)
    assert set(killed) <= {"rank", "supervisor", "gpubench run"}
    assert kills < 50 or len(set(killed)) == 3, "fifty leave nothing out"


def disturbed_run(
    file: Path, results: Path, chance: random.Random, killed: list[str], kills: int
) -> int:
    """Run the benchmark, killing something every few seconds until enough was; return its code."""
    with running(file, results) as command:
        while len(killed) < kills:
            end = time.monotonic() + chance.uniform(0.1, LONGEST_WAIT_SECONDS)
            while time.monotonic() < end:
                if command.process.poll() is not None:
                    return command.process.returncode
                time.sleep(0.02)
            if kind := kill_something(command, chance):
                killed.append(kind)
        return command.finish()[0]
