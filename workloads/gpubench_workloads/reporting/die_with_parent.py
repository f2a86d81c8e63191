"""No process is left behind: children that end with their parent, parents that adopt orphans."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PARENT_VARIABLE = "GPUBENCH_PARENT_PID"
"""Environment variable by which a process tells its children who they are to die with."""
BOUND = "bound"
"""Its value in a process that is already bound to end with another one than its parent."""
PR_SET_PDEATHSIG = 1
"""From linux/prctl.h: the signal that the kernel sends when the parent ends."""
PR_SET_CHILD_SUBREAPER = 36
"""From linux/prctl.h: orphans below this process become its children."""


def die_with_parent(parent_pid: int | None = None) -> None:
    """Have the kernel kill this process when its parent ends; does nothing elsewhere than Linux.

    Call it first of all, and with the parent's id, by default that of `PARENT_VARIABLE`: a parent
    that ended before the call is known by its id alone, because this process then has another.
    """
    named = os.environ.get(PARENT_VARIABLE)
    if sys.platform != "linux" or (parent_pid is None and named == BOUND):
        return
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    expected = parent_pid or int(named or os.getppid())
    if os.getppid() != expected:
        os.kill(os.getpid(), signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends; nothing elsewhere than Linux.

    So that also a rank can be found and ended that was stopped before it could ask to die with
    its parent.
    """
    if sys.platform == "linux":
        _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")
