"""What the command's exit status tells a script."""

from __future__ import annotations

OK = 0
"""Done; every run has a valid result."""
RUNS_NOT_VALID = 1
"""Done, but some runs failed, are invalid or are missing."""
BAD_INPUT = 2
"""An argument or a benchmark file cannot be used as it is; nothing was started."""
CANNOT_RUN = 3
"""This machine, folder or cluster cannot be used: locked, not writable, full, too few devices, no
dataset, not reachable, not allowed, not there."""
INTERRUPTED = 130
"""Stopped by Ctrl-C or a signal; what finished is kept, the same command goes on from there. A
benchmark on a cluster goes on by itself."""
