"""A process that was told its parent ends with it, whenever the parent ends."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import psutil
import pytest

PARENT = """
import os, subprocess, sys, time
command = [sys.executable, "-c", sys.argv[1], str(os.getpid())]
child = subprocess.Popen(command, stdout=subprocess.PIPE)
print(child.pid, flush=True)
child.stdout.readline()
print("child is ready", flush=True)
time.sleep(60)
"""
CHILD = """
import sys, time
time.sleep({seconds_before})
from gpubench_workloads.reporting.die_with_parent import die_with_parent
die_with_parent(int(sys.argv[1]))
print("ready", flush=True)
time.sleep(60)
"""


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def eventually(condition: Callable[[], bool], seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize("seconds_before", [0, 2])
def test_child_of_a_killed_parent_ends(seconds_before: int) -> None:
    """Whether it has told the kernel by then or is still on its way there."""
    child = CHILD.format(seconds_before=seconds_before)
    command = [sys.executable, "-c", PARENT, child]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        if seconds_before == 0:
            parent.stdout.readline()
        assert not is_gone(pid)
        parent.kill()
    assert eventually(lambda: is_gone(pid))
