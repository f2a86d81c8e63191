"""A supervisor as a process on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from gpubench.api.enums import DeviceKind
from gpubench.api.layout import LOG_FILE, RUN_SPEC_FILE
from gpubench.api.run_spec import RunSpec
from gpubench.store import write_atomically

SUPERVISOR_MODULE = "gpubench_workloads.supervisor"
RANK_GRACE_SECONDS = 2.0
"""Time that the supervisor gives its ranks, within the 5 s in which Ctrl-C must have ended all."""


@dataclass(frozen=True)
class SupervisorProcess:
    """A running attempt."""

    process: subprocess.Popen[bytes]
    folder: Path
    slots: tuple[str, ...]

    @property
    def is_running(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def ask_to_stop(self) -> None:
        """Have it end its ranks, write a result and exit."""
        if self.is_running:
            self.process.send_signal(signal.SIGTERM)

    def wait_or_kill(self, seconds: float) -> None:
        """Wait until it is gone; after `seconds` kill it, and with it its ranks."""
        try:
            self.process.wait(max(seconds, 0.0))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_supervisor(spec: RunSpec, folder: Path, slots: tuple[str, ...]) -> SupervisorProcess:
    """Start an attempt on some of this machine's devices.

    It lives in a session of its own, so that a Ctrl-C in the terminal reaches us alone, and dies
    with us, however we end.

    Raises:
        OSError: it cannot be started, or its spec cannot be written.
    """
    write_atomically(folder / RUN_SPEC_FILE, spec.model_dump_json(by_alias=True, indent=1))
    environment = dict(os.environ)
    if spec.device is DeviceKind.CUDA:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(slots)
    with (folder / LOG_FILE).open("ab") as log:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                SUPERVISOR_MODULE,
                "--spec",
                str(folder / RUN_SPEC_FILE),
                "--output",
                str(folder),
                "--grace-seconds",
                str(RANK_GRACE_SECONDS),
                "--parent-pid",
                str(os.getpid()),
            ],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
    return SupervisorProcess(process, folder, slots)
