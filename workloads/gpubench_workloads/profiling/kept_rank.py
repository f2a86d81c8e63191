r"""A rank below nsys: what it needs of its keeper, then the training program itself.

    python -m gpubench_workloads.profiling.kept_rank \
        LIFE PROFILER_LIFE MESSAGES ENVIRONMENT OUT ERR MODULE ...

The first six are open files that the keeper left for it. nsys writes the environment and the
arguments of what it starts into its report, so the variables that are nobody's business come in
one of these files.
"""

from __future__ import annotations

import fcntl
import os
import runpy
import signal
import sys

from gpubench_workloads.profiling.environment import add_environment
from gpubench_workloads.profiling.records import DONE, PROFILER_LIFE_VARIABLE, STARTED
from gpubench_workloads.reporting.die_with_parent import BOUND, PARENT_VARIABLE


def main() -> None:
    """Run the program as this process, which ends when its keeper does."""
    files = tuple(int(argument) for argument in sys.argv[1:7])
    life, profiler_life, messages, environment, *outputs = files
    sys.argv = sys.argv[7:]
    bind(life)
    add_environment(environment)
    os.environ[PARENT_VARIABLE] = BOUND
    os.environ[PROFILER_LIFE_VARIABLE] = str(profiler_life)
    # Past nsys, whose end would break the pipe to it.
    for stream, output in zip((1, 2), outputs, strict=True):
        os.dup2(output, stream)
        os.close(output)
    for file in (messages, profiler_life):
        os.set_inheritable(file, False)
    os.write(messages, STARTED + str(os.getpid()).encode())
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code:
            raise
    os.write(messages, DONE)


def bind(life: int) -> None:
    """Have the kernel kill this process when another one ends that is not its parent.

    `life` is the reading end of a pipe whose only writing end the other process holds. When that
    closes, the kernel tells the owner of the reading end, by a signal that can be chosen.
    """
    os.set_inheritable(life, False)
    fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(life, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    try:
        os.read(life, 1)
    except BlockingIOError:
        # Nothing to read, yet not the end either: the other process lives.
        return
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
