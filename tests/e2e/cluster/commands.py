"""Running a program, and the one error of this package."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


class ClusterError(Exception):
    """Something that the cluster needs did not work; the message tells what."""


def run(
    *command: str | Path,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout: float = 120,
) -> str:
    """What a program prints. A failure raises with the end of what it said."""
    arguments = [str(part) for part in command]
    try:
        done = subprocess.run(
            arguments,
            input=stdin,
            env=environment,
            cwd=folder,
            timeout=timeout,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        raise ClusterError(f"{arguments[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise ClusterError(f"took longer than {timeout:g} s: {' '.join(arguments)}") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise ClusterError(f"exit code {done.returncode}: {' '.join(arguments)}\n{said}")
    return done.stdout


def succeeds(*command: str | Path, timeout: float = 120) -> bool:
    """Whether a program runs and returns 0."""
    try:
        run(*command, timeout=timeout)
    except ClusterError:
        return False
    return True


def wait_until(
    what: str, condition: Callable[[], bool], *, timeout: float, interval: float = 0.2
) -> None:
    """Wait for something that takes a moment, and say what it was when it never came."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise ClusterError(f"{what}: not within {timeout:g} s")
        time.sleep(interval)


def run_all(commands: Sequence[Sequence[str | Path]]) -> None:
    """Run programs one after another."""
    for command in commands:
        run(*command)
