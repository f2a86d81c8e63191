"""What an nsys can read of other processes: nothing, if it can be helped.

nsys reads the environment of every process that it may look at and writes all of them into its
report (seen with 2024.2.3: /proc/*/environ, whatever is traced). Leaving secrets out of its own
environment is therefore not enough. Two things are done about it:

- Our own processes keep their environment where only they find it (`hide_environment`).
- torchrun and all below it enter a Landlock domain, which may not look at processes outside
  (`draw_curtain`); it restricts nothing else.

A kernel may not know Landlock, or a container forbid it. So before nsys is started, the keeper
looks for what it could read (`exposed_processes`), and does without nsys if there is anything.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from gpubench_workloads.profiling.environment import is_allowed

# From linux/prctl.h, linux/capability.h, linux/landlock.h and asm-generic/unistd.h.
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
CAP_SYS_ADMIN = 21
CAP_PERFMON = 38
SYS_LANDLOCK_CREATE_RULESET = 444
SYS_LANDLOCK_RESTRICT_SELF = 446
SYS_LANDLOCK_ADD_RULE = 445
LANDLOCK_RULE_PATH_BENEATH = 1
LANDLOCK_ACCESS_FS_REFER = 1 << 13
"""Moving a file to another folder. Every domain forbids it unless a rule allows it, so this is what
the domain is said to be about: it is allowed everywhere, and nothing is left that is forbidden."""
ENV_START_FIELD = 49
"""Where /proc/self/stat has the address of the environment, and after it that of its end."""


def draw_curtain() -> None:
    """Keep this process's descendants from looking at processes outside; as far as that goes.

    Capabilities that let root look all the same are lost with the next program that is executed.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (CAP_SYS_ADMIN, CAP_PERFMON):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    ruleset = _landlock_rules(libc)
    if ruleset is not None:
        libc.syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0)
        os.close(ruleset)


class _PathBeneath(ctypes.Structure):
    """struct landlock_path_beneath_attr."""

    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def _landlock_rules(libc: ctypes.CDLL) -> int | None:
    """Return rules that forbid nothing; None where the kernel has none (before Linux 5.19)."""
    handled = ctypes.c_uint64(LANDLOCK_ACCESS_FS_REFER)
    ruleset = libc.syscall(SYS_LANDLOCK_CREATE_RULESET, ctypes.byref(handled), 8, 0)
    if ruleset < 0:
        return None
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    rule = _PathBeneath(LANDLOCK_ACCESS_FS_REFER, root)
    added = libc.syscall(
        SYS_LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, ctypes.byref(rule), 0
    )
    os.close(root)
    if added == 0:
        return int(ruleset)
    os.close(ruleset)
    return None


def hide_environment() -> None:
    """Move this process's environment to where other processes do not find it.

    The kernel shows the memory in which it handed the environment over. What was there is copied
    first, as by setenv(3), so that this process loses nothing.
    """
    if sys.platform != "linux":
        return
    for name, value in os.environb.items():
        os.putenv(name, value)
    # The second field, the program's name, may hold spaces; it ends with the last parenthesis.
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    start, end = (int(address) for address in fields[ENV_START_FIELD - 2 :][:2])
    ctypes.memset(start, 0, end - start)


def exposed_processes() -> list[int]:
    """Return the processes whose environment this one can read and should not hand on."""
    return [
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and int(folder.name) != os.getpid() and _is_exposed(folder)
    ]


def _is_exposed(process: Path) -> bool:
    try:
        entries = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    names = (os.fsdecode(entry.partition(b"=")[0]) for entry in entries if entry)
    return not all(map(is_allowed, names))
