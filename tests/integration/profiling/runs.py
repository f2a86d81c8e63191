"""One attempt of a small run under the supervisor, as a pod makes it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpubench.api.benchmark import Workload
from gpubench.api.enums import DeviceKind, GateName
from gpubench.api.execution import Profiling
from gpubench.api.layout import RESULT_FILE
from gpubench.api.result import Gate, RunResult
from gpubench.api.run_spec import RunIdentity, RunSpec

STEPS = 48
SECRET = "planted-4711"


def run_spec(gpus: int, **nsys: object) -> RunSpec:
    """Return a run of `STEPS` steps in two epochs; keywords are those of profiling.nsys."""
    workload: dict[str, Any] = {
        "dataset": {"name": "digits", "trainImages": STEPS * 4 * gpus, "testImages": 16},
        "imageSize": 32,
        "epochs": 2,
        "batchSize": 8,
        "warmupSteps": 2,
        "workers": 0,
        "strategy": "DDP-DS",
        "evaluation": "Disabled",
    }
    return RunSpec(
        identity=RunIdentity(
            benchmark="demo", run="demo-run", point_hash="a" * 10, repetition=1, attempt=1
        ),
        workload=Workload.model_validate({"imageRecognition": workload}),
        gpus=gpus,
        device=DeviceKind.CPU,
        threads_per_rank=1,
        profiling=Profiling.model_validate({"nsys": {"warmupSteps": 2, **nsys}}),
    )


@contextmanager
def supervised(folder: Path, spec: RunSpec, nsys: Path | str) -> Iterator[subprocess.Popen[str]]:
    """Run one attempt while the block lasts; nothing of it is left behind."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "run.json"
    file.write_text(spec.model_dump_json(by_alias=True, exclude_none=True))
    command = [sys.executable, "-m", "gpubench_workloads.supervisor", f"--spec={file}"]
    process = subprocess.Popen(
        [*command, f"--output={folder}"],
        env=os.environ | {"GPUBENCH_NSYS": str(nsys), "HF_TOKEN": SECRET},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def run_to_end(folder: Path, spec: RunSpec, nsys: Path | str) -> RunResult:
    """Run one attempt and return its result, which trained to its end and is valid."""
    with supervised(folder, spec, nsys) as process:
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    return valid_result(folder)


def valid_result(folder: Path) -> RunResult:
    """Return the result of an attempt, which trained to its end and is valid."""
    result = RunResult.from_document((folder / RESULT_FILE).read_text())
    assert result.is_valid, result.validity
    assert result.timing is not None
    assert result.timing.steps == STEPS
    return result


def profile_gate(result: RunResult) -> Gate:
    """Return what the result says of its profile."""
    assert result.validity is not None
    [gate] = [gate for gate in result.validity.gates if gate.name is GateName.PROFILE]
    return gate
