"""From a spec to a rank's recording."""

from __future__ import annotations

import os
from pathlib import Path

from gpubench.api.run_spec import RunSpec
from gpubench_workloads.profiling.ranges import NvtxProfiler
from gpubench_workloads.profiling.recording import Profiler, Recording, Surroundings
from gpubench_workloads.profiling.records import PROFILER_VARIABLE, report_path
from gpubench_workloads.profiling.window import window_of
from gpubench_workloads.reporting.rank_report import ProfileSource


def build_recording(
    spec: RunSpec, attempt_folder: Path, rank: int, surroundings: Surroundings
) -> Recording:
    """Return the recording of a rank, by the profiler that the environment names."""
    window = window_of(spec.profiling.nsys)
    if window is None:
        return Recording(None, None, surroundings)
    if os.environ.get(PROFILER_VARIABLE) == ProfileSource.NSYS:
        return Recording(NvtxProfiler(report_path(attempt_folder, rank)), window, surroundings)
    from gpubench_workloads.profiling.kineto import KinetoProfiler

    trace = report_path(attempt_folder, rank, ProfileSource.KINETO)
    profiler: Profiler = KinetoProfiler(trace)
    return Recording(profiler, window, surroundings)
