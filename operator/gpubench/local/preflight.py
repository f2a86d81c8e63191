"""Asks the workloads' own preflight about each dataset, before a whole sweep fails on it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from gpubench.api.result import Failure
from gpubench.api.run_spec import RunSpec
from gpubench.local.processes import SUPERVISOR_MODULE
from gpubench.local.run_specs import RunSpecBuilder
from gpubench.sweep.plan import Plan


class CannotRunError(Exception):
    """Something that every run needs is missing; the message says what."""


def check_needs(plan: Plan, specs: RunSpecBuilder, results: Path) -> None:
    """Check the devices, disk and dataset of one run for each dataset of the plan.

    A dataset that may be downloaded is, here and once, before the runs want it.

    Raises:
        CannotRunError: the first thing that is missing.
    """
    for spec in _one_spec_per_dataset(plan, specs):
        failure = _preflight(spec, results)
        if failure is not None:
            raise CannotRunError(failure.message)


def _one_spec_per_dataset(plan: Plan, specs: RunSpecBuilder) -> list[RunSpec]:
    by_dataset = {
        run.point.workload.parameters.dataset.model_dump_json(): run for run in reversed(plan.runs)
    }
    return [specs.build(run, attempt=1) for run in by_dataset.values()]


def _preflight(spec: RunSpec, results: Path) -> Failure | None:
    with tempfile.TemporaryDirectory(prefix="gpubench-") as folder:
        spec_path = Path(folder, "run.json")
        spec_path.write_text(spec.model_dump_json(by_alias=True), encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            SUPERVISOR_MODULE,
            "--check",
            "--spec",
            str(spec_path),
            "--output",
            str(results),
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return None
    try:
        return Failure.model_validate_json(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        msg = f"the check before the start ended with exit code {done.returncode}"
        raise CannotRunError(msg) from None
