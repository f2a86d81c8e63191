"""A process that ends when its parent does, so that a killed supervisor leaves no rank behind."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PARENT_VARIABLE = "GPUBENCH_PARENT_PID"
"""Environment variable by which a process tells its children who they are to die with."""
PR_SET_PDEATHSIG = 1
"""From linux/prctl.h: the signal that the kernel sends when the parent ends."""


def die_with_parent(parent_pid: int | None = None) -> None:
    """Have the kernel kill this process when its parent ends; does nothing elsewhere than Linux.

    Call it first of all, and with the parent's id, by default that of `PARENT_VARIABLE`: a parent
    that ended before the call is known by its id alone, because this process then has another.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    expected = parent_pid or int(os.environ.get(PARENT_VARIABLE, os.getppid()))
    if os.getppid() != expected:
        os.kill(os.getpid(), signal.SIGKILL)
