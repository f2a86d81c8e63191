"""Starting the ranks of a run under torchrun, and stopping them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil

from gpubench.api.enums import DeviceKind, Strategy, WorkloadKind
from gpubench.api.layout import LOG_FILE, RANKS_FOLDER, RUN_SPEC_FILE
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.profiling.environment import (
    ENVIRONMENT_VARIABLE,
    allowed_environment,
    pack_environment,
)
from gpubench_workloads.profiling.records import PROFILER_VARIABLE
from gpubench_workloads.reporting.die_with_parent import PARENT_VARIABLE
from gpubench_workloads.reporting.rank_report import ProfileSource
from gpubench_workloads.supervisor.torchrun import EXITS_VARIABLE

PROGRAMS = {
    WorkloadKind.IMAGE_RECOGNITION: "gpubench_workloads.image_recognition",
    WorkloadKind.LLM_TUNING: "gpubench_workloads.llm_tuning",
}
EXITS_FILE = "exits.json"
KEEPER = "gpubench_workloads.profiling.keeper"


def process_count(spec: RunSpec) -> int:
    """Return how many processes a run has: one per rank, one in all for DataParallel."""
    image_recognition = spec.workload.image_recognition
    if image_recognition and image_recognition.strategy is Strategy.DATA_PARALLEL:
        return 1
    return spec.gpus


def launch_command(spec: RunSpec, attempt_folder: Path, *, kept: bool = False) -> list[str]:
    """Return the command that starts all ranks of a run; `kept`: each below a keeper and nsys."""
    program = PROGRAMS[spec.workload.kind]
    return [
        sys.executable,
        "-m",
        "gpubench_workloads.supervisor.torchrun",
        "--standalone",
        f"--nproc-per-node={process_count(spec)}",
        "--max-restarts=0",
        "-m",
        *([KEEPER, "--program", program] if kept else [program]),
        "--spec",
        str(attempt_folder / RUN_SPEC_FILE),
        "--output",
        str(attempt_folder),
    ]


def launch_environment(spec: RunSpec, attempt_folder: Path) -> dict[str, str]:
    """Return the ranks' environment: ours, and what the run itself decides."""
    environment = dict(os.environ)
    environment[EXITS_VARIABLE] = str(attempt_folder / RANKS_FOLDER / EXITS_FILE)
    environment[PARENT_VARIABLE] = str(os.getpid())
    environment["PYTHONUNBUFFERED"] = "1"
    if spec.threads_per_rank is not None:
        environment["OMP_NUM_THREADS"] = str(spec.threads_per_rank)
    else:
        environment.setdefault("OMP_NUM_THREADS", str(default_threads(spec)))
    if spec.device is DeviceKind.CPU:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    # torch asks for the user's name, which a uid of an arbitrary number does not have.
    environment.setdefault("USER", "gpubench")
    environment.setdefault("LOGNAME", environment["USER"])
    return environment


def default_threads(spec: RunSpec) -> int:
    """Return the processor threads of a rank when the spec does not say: cores over ranks."""
    return max(len(os.sched_getaffinity(0)) // process_count(spec), 1)


@dataclass
class RankProcesses:
    """The ranks of a run as one process group, their output copied to the log as it comes."""

    process: subprocess.Popen[bytes]
    exits_path: Path
    _log_pump: threading.Thread = field(repr=False)

    @classmethod
    def start(
        cls, spec: RunSpec, attempt_folder: Path, profiler: ProfileSource | None = None
    ) -> RankProcesses:
        """Start the ranks below a session of their own, so that they can be stopped as one."""
        ranks_folder = attempt_folder / RANKS_FOLDER
        ranks_folder.mkdir(exist_ok=True)
        environment = launch_environment(spec, attempt_folder)
        kept = profiler is ProfileSource.NSYS
        inherited: list[int] = []
        if profiler is not None:
            environment[PROFILER_VARIABLE] = profiler
        if kept:
            # What must not be in a report takes another way than the environment.
            inherited = [pack_environment(environment)]
            environment = allowed_environment(environment)
            environment[ENVIRONMENT_VARIABLE] = f"/proc/self/fd/{inherited[0]}"
        process = subprocess.Popen(
            launch_command(spec, attempt_folder, kept=kept),
            env=environment,
            pass_fds=inherited,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        for file in inherited:
            os.close(file)
        assert process.stdout is not None
        pump = threading.Thread(
            target=_copy_output, args=(process.stdout, attempt_folder / LOG_FILE), daemon=True
        )
        pump.start()
        return cls(process, ranks_folder / EXITS_FILE, pump)

    def wait(self, seconds: float) -> int | None:
        """Return the exit code, None if the ranks still run after `seconds`.

        It is the end of their output that wakes us; subprocess would look twenty times a second
        whether they have ended, which costs them processor time.
        """
        self._log_pump.join(seconds)
        if self._log_pump.is_alive():
            return self.process.poll()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, grace_seconds: float) -> None:
        """Ask the ranks to end, and end those that have not after `grace_seconds`."""
        self._signal(signal.SIGTERM)
        if self.wait(grace_seconds) is None:
            self._signal(signal.SIGKILL)
            self.process.wait()

    def finish(self) -> None:
        """End what is left of the ranks, orphans too, and wait until their output is in the log."""
        left = psutil.Process().children(recursive=True)
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=5)
        self._log_pump.join(timeout=5)

    def rank_exits(self) -> dict[int, int]:
        """Return the exit codes of failed ranks as torchrun saw them; negative for a signal."""
        try:
            exits = json.loads(self.exits_path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return {int(rank): int(code) for rank, code in exits.items()}

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return


def _copy_output(source: IO[bytes], log_path: Path) -> None:
    """Copy the ranks' output to the log and to ours until it ends.

    A full disk must not stop the training, so the log then stays as long as it is.
    """
    log: IO[bytes] | None = log_path.open("ab", buffering=0)
    while chunk := os.read(source.fileno(), 65_536):
        if log is not None:
            try:
                log.write(chunk)
            except OSError:
                log.close()
                log = None
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    if log is not None:
        log.close()
