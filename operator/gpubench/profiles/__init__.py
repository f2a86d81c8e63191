"""Profiler reports -> families: readers, one reduction for all, a profile.

The way of a report: a reader (`nsys`, `kineto`) brings its events into the columns of `events`,
batch by batch; `reduction` counts their durations (`tally`), the time that they cover (`intervals`,
`gpus`) and the launches; `profile` adds up the ranks. `families` alone knows which name means what.
"""

from gpubench.profiles.errors import ProfileError
from gpubench.profiles.reading import read_profile

__all__ = ["ProfileError", "read_profile"]
