"""Between torchrun and nsys: the training goes on whatever becomes of the profiler.

    torchrun -> keeper -> nsys -> ... -> kept_rank -> the training program

torchrun ends a run as soon as a process that it started fails, and nsys would be that process. The
keeper is it instead. It ends with the rank's exit code, not with that of nsys: a profiler that is
killed, that crashes or that cannot write its report only leaves a note for the gate. Where nsys
does not even start the rank, the keeper becomes the rank.

When the keeper dies, the kernel ends nsys, whose parent it is, and the rank, which hangs on a pipe
of the keeper's: nothing outlives the supervisor here either.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, NoReturn

import psutil

from gpubench.api.run_spec import RunSpec
from gpubench_workloads.profiling.curtain import exposed_processes
from gpubench_workloads.profiling.environment import (
    ENVIRONMENT_VARIABLE,
    add_environment,
    allowed_environment,
)
from gpubench_workloads.profiling.nsys import find_nsys, nsys_command
from gpubench_workloads.profiling.records import (
    DONE,
    PROFILER_VARIABLE,
    STARTED,
    KeeperRecord,
    nsys_log_path,
    report_path,
    write_keeper_record,
)
from gpubench_workloads.profiling.window_range import find_library
from gpubench_workloads.reporting.die_with_parent import adopt_orphans, die_with_parent
from gpubench_workloads.reporting.rank_report import ProfileSource

KEPT_RANK = "gpubench_workloads.profiling.kept_rank"
REPORT_SECONDS = 600.0
"""How long nsys may take to write its report after the rank has ended."""
IDLE_SECONDS = 20.0
"""An nsys that does nothing for so long after its rank has ended waits for what will not come."""
BUSY_SECONDS = 0.05
"""Processor time below which it does nothing."""
START_SECONDS = 10.0
"""How long to wait for a rank that nsys may have started before it ended itself."""
AGENT_LOST = b"Connection to Agent lost"
"""What nsys says when its agent has ended; its exit code is 0 (2024.2.3)."""
SHELL_SIGNALS = 128
"""A program that a signal ended has this exit code plus the signal's number, as shells tell it."""


@dataclass(frozen=True)
class Ends:
    """How a rank and the nsys around it ended."""

    rank_exit: int | None
    """Negative for a signal; None if nsys never started the rank."""
    nsys_exit: int | None
    """Negative for a signal; None if it could not be started, or if it was overdue."""
    overdue: bool = False
    """Whether nsys had to be killed because its report took too long."""


class Keeper:
    """Starts nsys around a rank and waits for both."""

    def __init__(
        self, nsys: Sequence[str], program: Sequence[str], environment: int, log: IO[bytes]
    ) -> None:
        """Start `nsys` (a command) around `program` (a module and its arguments).

        `environment` is the file with the variables that only the program is to have, `log` takes
        what nsys has to say.
        """
        # The writing end is held by nobody else, so that it closes with this process.
        life, self._life = os.pipe()
        profiler_life, self._profiler_life = os.pipe()
        self._messages, messages = os.pipe()
        # nsys hands open files on, and looks at none of them.
        inherited = (life, profiler_life, messages, environment, os.dup(1), os.dup(2))
        rank = [sys.executable, "-u", "-m", KEPT_RANK, *map(str, inherited)]
        self._nsys = subprocess.Popen(
            [*nsys, *rank, *program],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=allowed_environment(os.environ),
            pass_fds=inherited,
            # This process has one thread, so that code may run between fork and exec.
            preexec_fn=partial(die_with_parent, os.getpid()),  # noqa: PLW1509
        )
        self._nsys_end = os.pidfd_open(self._nsys.pid)

    def wait(self, report_seconds: float = REPORT_SECONDS) -> Ends:
        """Return when the rank has ended and nsys too, which is killed after `report_seconds`."""
        rank = self._wait_for_rank()
        if rank is None:
            return Ends(rank_exit=None, nsys_exit=self._nsys.wait())
        with suppress(ProcessLookupError):
            rank_end = os.pidfd_open(rank)
            if self._nsys_end in _wait_for([rank_end, self._nsys_end]):
                os.close(self._profiler_life)
                _wait_for([rank_end])
        overdue = not self._wait_for_report(report_seconds)
        if overdue:
            self._nsys.kill()
        nsys_exit = self._nsys.wait()
        return Ends(self._rank_exit(rank, nsys_exit), nsys_exit, overdue)

    def _wait_for_rank(self) -> int | None:
        """Return the rank's process id once it has told, None if nsys ended without a rank."""
        if self._messages not in _wait_for([self._messages, self._nsys_end]):
            # nsys is gone; a rank that it started a moment ago may still be on its way.
            left = psutil.Process().children(recursive=True)
            if len(left) <= 1 or not _wait_for([self._messages], START_SECONDS):
                return None
        return int(os.read(self._messages, 64).removeprefix(STARTED))

    def _wait_for_report(self, seconds: float) -> bool:
        """Return whether nsys has ended; not if it takes too long, or stopped doing anything."""
        deadline = time.monotonic() + seconds
        before = -1.0
        while not _wait_for([self._nsys_end], min(seconds, IDLE_SECONDS)):
            worked = _processor_seconds()
            if time.monotonic() >= deadline or worked - before < BUSY_SECONDS:
                return False
            before = worked
        return True

    def _rank_exit(self, rank: int, nsys_exit: int) -> int:
        """Return how the rank ended.

        It says itself that it reached its end. Otherwise nsys knows, whose child it was, or the
        kernel, if nsys died before it and this process became its parent.
        """
        os.set_blocking(self._messages, False)
        with suppress(BlockingIOError):
            if os.read(self._messages, 64) == DONE:
                return 0
        with suppress(ChildProcessError):
            return os.waitstatus_to_exitcode(os.waitpid(rank, 0)[1])
        if nsys_exit <= 0:
            return 1
        return SHELL_SIGNALS - nsys_exit if nsys_exit > SHELL_SIGNALS else nsys_exit


def main() -> int:
    """Keep one rank and return its exit code; see --help."""
    die_with_parent()
    adopt_orphans()
    parser = argparse.ArgumentParser(description="Start nsys around a rank, and outlive it.")
    parser.add_argument("--program", required=True, help="the training program, a module")
    parser.add_argument("--spec", type=Path, required=True, help="the run's RunSpec as JSON")
    parser.add_argument("--output", type=Path, required=True, help="folder of the attempt")
    options = parser.parse_args()
    program = [options.program, "--spec", str(options.spec), "--output", str(options.output)]
    environment = os.open(os.environ[ENVIRONMENT_VARIABLE], os.O_RDONLY)
    spec = RunSpec.model_validate_json(options.spec.read_bytes())
    number = int(os.environ.get("RANK", "0"))
    record = KeeperRecord()
    exit_code: int | None = None
    if exposed := exposed_processes():
        record = KeeperRecord(exposed=exposed)
    else:
        exit_code, record = _keep(spec, options.output, number, program, environment)
        _end_what_is_left()
    write_keeper_record(options.output, number, record)
    if exit_code is None:
        become_rank(program, environment)
    if exit_code < 0:
        signal.signal(-exit_code, signal.SIG_DFL)
        os.kill(os.getpid(), -exit_code)
    return exit_code


def _keep(
    spec: RunSpec, attempt_folder: Path, rank: int, program: Sequence[str], environment: int
) -> tuple[int | None, KeeperRecord]:
    """Return the rank's exit code, None if nsys did not start it, and what became of nsys."""
    report, log_path = report_path(attempt_folder, rank), nsys_log_path(attempt_folder, rank)
    nsys = find_nsys()
    if nsys is None:
        return None, KeeperRecord(problem="it is gone")
    try:
        report.parent.mkdir(exist_ok=True)
        find_library()
        with log_path.open("wb") as log:
            command = nsys_command(nsys, spec, report)
            ends = Keeper(command, program, environment, log).wait()
        agent_lost = AGENT_LOST in log_path.read_bytes()
    except OSError as error:
        told = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return None, KeeperRecord(problem=told)
    record = KeeperRecord(
        nsys_exit=ends.nsys_exit,
        kept_rank=ends.rank_exit is not None,
        overdue=ends.overdue,
        agent_lost=agent_lost,
    )
    return ends.rank_exit, record


def become_rank(program: Sequence[str], environment: int) -> NoReturn:
    """Replace this process by the rank, which is then profiled from within."""
    add_environment(environment)
    os.environ[PROFILER_VARIABLE] = ProfileSource.KINETO
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-u", "-m", *program])  # noqa: S606 - in its place


def _wait_for(sources: Iterable[int], seconds: float | None = None) -> list[int]:
    """Return those file descriptors of which something is to be read, none after `seconds`."""
    poll = select.poll()
    for source in sources:
        poll.register(source, select.POLLIN)
    return [source for source, _ in poll.poll(None if seconds is None else seconds * 1000)]


def _processor_seconds() -> float:
    """Return the processor time of nsys and all that belongs to it."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def _end_what_is_left() -> None:
    """End helpers that nsys has left behind, which this process has adopted."""
    left = psutil.Process().children(recursive=True)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=5)


if __name__ == "__main__":
    sys.exit(main())
