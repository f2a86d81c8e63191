"""The processes of a cluster: started here, found again in the process table, ended for sure.

Each carries a mark in its environment, which what it starts inherits (containerd's shims, but not
what runs inside containers). So there is no file of process ids that could be stale or be missing
one after a crash: a process is ours if, and only if, it has the mark.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.cluster.commands import ClusterError, wait_until

MARK = "GPUBENCH_CLUSTER_STATE"


@dataclass(frozen=True)
class OwnProcess:
    """A process that carries the mark."""

    name: str
    """The program's file name, such as kubelet."""

    pid: int


def start(state: Path, log: Path, command: Sequence[str | Path]) -> int:
    """Start a program that outlives this one; what it says goes to the end of its log."""
    arguments = [str(part) for part in command]
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawnp(
        arguments[0],
        arguments,
        os.environ | {MARK: str(state)},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    # For a moment the kernel shows no environment yet.
    wait_until(f"start of {arguments[0]}", lambda: _has_mark(state, pid), timeout=5, interval=0.01)
    return pid


def _has_mark(state: Path, pid: int) -> bool:
    """Whether a child shows its mark; one that has ended already counts, too."""
    ended, _ = os.waitpid(pid, os.WNOHANG)
    return ended == pid or any(process.pid == pid for process in own_processes(state))


def own_processes(state: Path) -> list[OwnProcess]:
    """All that run now with the mark of this state folder."""
    mark = f"{MARK}={state}".encode()
    return [
        process
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and (process := _own_process(folder, mark)) is not None
    ]


def _own_process(folder: Path, mark: bytes) -> OwnProcess | None:
    try:
        # A zombie's environment is empty, so what is dead but not yet reaped does not count.
        if mark not in (folder / "environ").read_bytes().split(b"\0"):
            return None
        program = (folder / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
    except OSError:  # it has just ended
        return None
    return OwnProcess(Path(program).name, int(folder.name))


def pids(state: Path, name: str) -> list[int]:
    """The processes of one program."""
    return [process.pid for process in own_processes(state) if process.name == name]


def end(state: Path, names: Iterable[str], *, patience: float = 5) -> None:
    """Ask the processes of these programs to end, and kill what has not after some seconds."""
    names = set(names)
    ending = [process.pid for process in own_processes(state) if process.name in names]
    handles = _handles(ending)
    for pid in ending:
        signal_process(pid, signal.SIGTERM)
    if not _wait_for(handles, patience):
        kill(ending)
    _close(handles)


def kill(process_ids: Iterable[int], *, patience: float = 10) -> None:
    """SIGKILL, and wait until they are gone with all that they held."""
    killed = list(process_ids)
    handles = _handles(killed)
    for pid in killed:
        signal_process(pid, signal.SIGKILL)
    try:
        if not _wait_for(handles, patience):
            raise ClusterError(f"of processes {killed} some do not end")
    finally:
        _close(handles)


def _handles(process_ids: Iterable[int]) -> list[int]:
    """Open files that can be read when their processes have ended.

    One that is ending shows no mark any more while it still holds its ports.
    """
    handles = []
    for pid in process_ids:
        with contextlib.suppress(ProcessLookupError):
            handles.append(os.pidfd_open(pid))
    return handles


def _wait_for(handles: Iterable[int], seconds: float) -> bool:
    """Whether all these processes end within some time."""
    deadline = time.monotonic() + seconds
    return all(
        select.select([handle], [], [], max(0, deadline - time.monotonic()))[0]
        for handle in handles
    )


def _close(handles: Iterable[int]) -> None:
    for handle in handles:
        os.close(handle)


def signal_process(pid: int, number: signal.Signals) -> None:
    """Send a signal; a process that is gone already is fine."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def must_live(state: Path, name: str, log: Path) -> None:
    """Raise with the end of its log when a program has ended."""
    if not pids(state, name):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        raise ClusterError("\n".join([f"{name} has ended; the end of {log}:", *lines[-15:]]))
