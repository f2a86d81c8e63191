"""A process that ends when its parent does, so that a killed supervisor leaves no rank behind."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
"""From linux/prctl.h: the signal that the kernel sends when the parent ends."""


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends; does nothing elsewhere than Linux.

    Call it first of all: a parent that ended before the call is noticed by its id, which is then
    no longer the parent's.
    """
    if sys.platform != "linux":
        return
    parent = os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
