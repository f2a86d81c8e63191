"""torch.profiler in the rank: the same window and the same ranges, where there is no nsys."""

from __future__ import annotations

import gzip
import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from gpubench_workloads.profiling import ranges
from gpubench_workloads.reporting.rank_report import ProfileSource


class KinetoProfiler:
    """Keeps what it recorded until the training is over, and writes it then."""

    source = ProfileSource.KINETO

    def __init__(self, trace_path: Path) -> None:
        """Write the trace, compressed, to `trace_path`."""
        self._path = trace_path
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        self._profile = profile(activities=activities)
        self._started: dict[str, AbstractContextManager[object]] = {}

    @property
    def is_settled(self) -> bool:
        return True

    def open(self) -> None:
        self._profile.start()
        self.start(ranges.WINDOW)

    def close(self) -> None:
        self.end(ranges.WINDOW)
        self._profile.stop()

    def start(self, name: str) -> None:
        self._started[name] = record_function(name)
        self._started[name].__enter__()

    def end(self, name: str) -> None:
        started = self._started.pop(name, None)
        if started is not None:
            started.__exit__(None, None, None)

    def inside(self, name: str) -> AbstractContextManager[None]:
        context: AbstractContextManager[None] = record_function(name)
        return context

    def save(self) -> None:
        self._path.parent.mkdir(exist_ok=True)
        with TemporaryDirectory(dir=self._path.parent, prefix=".trace-") as folder:
            trace = Path(folder) / "trace.json"
            self._profile.export_chrome_trace(str(trace))
            packed = Path(folder) / "trace.json.gz"
            with trace.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
                shutil.copyfileobj(source, target)
            packed.replace(self._path)
