"""Ranks of a tuning as a run starts them, one in this process, several under torchrun."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gpubench.api.result import RunResult
from gpubench.api.run_spec import RunSpec

SUPERVISOR = "gpubench_workloads.supervisor"


def attempt(folder: Path, spec: RunSpec) -> RunResult:
    """Run an attempt as `gpubench run` does, and return its result."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "run.json"
    path.write_text(spec.model_dump_json(by_alias=True), encoding="utf-8")
    command = [sys.executable, "-m", SUPERVISOR, "--spec", str(path), "--output", str(folder)]
    ended = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert (folder / "result.json").exists(), ended.stdout
    return RunResult.from_document((folder / "result.json").read_text(encoding="utf-8"))
