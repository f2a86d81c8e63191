"""Starting the reduction of the reports, and bounding it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

import psutil

from gpubench.api.profile import Profile
from gpubench_workloads.profiling.nsys import find_nsys
from gpubench_workloads.reporting.die_with_parent import PARENT_VARIABLE

PROGRAM = "gpubench_workloads.profiling.reduce"
POLL_SECONDS = 0.1


class ReductionError(Exception):
    """The reports were not reduced; says why in one line."""


def reduce_reports(
    reports: Mapping[int, Path], seconds: float, is_stopped: Callable[[], bool]
) -> Profile:
    """Return the numbers of the reports of some ranks.

    Raises:
        ReductionError: they cannot be read, or not within `seconds`, or `is_stopped` said so.
    """
    nsys = find_nsys()
    with TemporaryDirectory(prefix="gpubench-profile-") as scratch, TemporaryFile() as answer:
        command = [sys.executable, "-m", PROGRAM, f"--scratch={scratch}"]
        command += [f"--nsys={nsys}"] if nsys is not None else []
        command += [f"{rank}={path}" for rank, path in sorted(reports.items())]
        errors = Path(scratch) / "errors.txt"
        with errors.open("wb") as error_output:
            process = subprocess.Popen(
                command,
                env=os.environ | {PARENT_VARIABLE: str(os.getpid()), "TMPDIR": scratch},
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=error_output,
                start_new_session=True,
            )
        try:
            code = _wait(process, seconds, is_stopped)
        finally:
            _end(process)
        if code != 0:
            raise ReductionError(_why_it_failed(code, errors.read_text(errors="replace")))
        answer.seek(0)
        try:
            return Profile.model_validate_json(answer.read())
        except ValueError as error:
            msg = f"the reports' numbers cannot be read: {error}"
            raise ReductionError(msg) from None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the reduction and whatever it started: nsys is in a session of its own."""
    with suppress(psutil.NoSuchProcess):
        for started in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                started.kill()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _wait(process: subprocess.Popen[bytes], seconds: float, is_stopped: Callable[[], bool]) -> int:
    deadline = time.monotonic() + seconds
    while (code := process.poll()) is None:
        if is_stopped():
            msg = "the run was asked to stop while its reports were read"
            raise ReductionError(msg)
        if time.monotonic() > deadline:
            msg = f"reading the reports took longer than {seconds:.0f} s; `gpubench profile` can"
            raise ReductionError(msg)
        time.sleep(POLL_SECONDS)
    return code


def _why_it_failed(code: int, errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    if code < 0:
        return f"reading the reports was ended by {signal.Signals(-code).name}"
    return lines[-1] if lines else f"reading the reports ended with exit code {code}"
