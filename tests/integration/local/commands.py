"""gpubench as a user starts it, and the processes that it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from gpubench.analysis.inputs import ReportInput
from gpubench.cli.report_input import read_report_input
from gpubench.store import ResultsFolder

START_SECONDS = 60
PROGRAMS = ("gpubench_workloads.image_recognition", "gpubench_workloads.llm_tuning")
"""What ranks run."""


def small_benchmark(name: str, **spec: str) -> str:
    """Return a benchmark of the shortest real runs: at least 12 steps of 8 digits.

    Keywords are parts of the spec in YAML's flow style, such as sweep="{repetitions: 2}".
    """
    parts = {
        "workload": (
            "{imageRecognition: {dataset: {name: digits, trainImages: 192, testImages: 64}, "
            "imageSize: 32, epochs: 1, batchSize: 8, warmupSteps: 0, workers: 0}}"
        ),
        "execution": "{retryLimit: 10, retryBackoffSeconds: 0, isolation: Shared}",
    } | spec
    body = "\n".join(f"  {name}: {text}" for name, text in parts.items())
    return (
        f"apiVersion: gpubench.io/v1alpha1\nkind: GPUBenchmark\n"
        f"metadata: {{name: {name}}}\nspec:\n{body}\n"
    )


@dataclass
class RunCommand:
    """A running `gpubench run`."""

    file: Path
    results: Path
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "gpubench", "run", str(self.file), "--device", "cpu"]
        self.process = subprocess.Popen(
            [*command, "--output", str(self.results)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(self, seconds: float = 300) -> tuple[int, str]:
        """Wait for its end; return its exit code and what it printed."""
        output, _ = self.process.communicate(timeout=seconds)
        return self.process.returncode, output

    def supervisors(self) -> list[psutil.Process]:
        """Return its supervisors that are running."""
        return [p for p in self._descendants() if "gpubench_workloads.supervisor" in _line(p)]

    def ranks(self) -> list[psutil.Process]:
        """Return the ranks of all its runs that are running."""
        return [
            p
            for p in self._descendants()
            if any(program in _line(p) for program in PROGRAMS)
            and "supervisor.torchrun" not in _line(p)
        ]

    def wait_for_ranks(self) -> list[psutil.Process]:
        """Return its ranks once there are any."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if ranks := self.ranks():
                return ranks
            time.sleep(0.05)
        message = f"no rank within {START_SECONDS} s"
        raise TimeoutError(message)

    def _descendants(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []


@contextmanager
def running(file: Path, results: Path) -> Iterator[RunCommand]:
    """Run a benchmark while the block lasts; nothing of it is left behind."""
    command = RunCommand(file, results)
    try:
        yield command
    finally:
        if command.process.poll() is None:
            command.process.send_signal(signal.SIGKILL)
            command.process.wait()
        if command.process.stdout is not None:
            command.process.stdout.close()


def run_to_end(file: Path, results: Path) -> tuple[int, str]:
    """Run a benchmark; return its exit code and what it printed."""
    with running(file, results) as command:
        return command.finish()


def processes_of(results: Path) -> list[psutil.Process]:
    """Return every process that works for a results folder, whoever its parent is."""
    return [
        process
        for process in psutil.process_iter()
        if str(results) in _line(process) and process.pid != os.getpid()
    ]


def wait_until_gone(results: Path, seconds: float) -> list[psutil.Process]:
    """Wait until no process works for a results folder; return those that still do."""
    deadline = time.monotonic() + seconds
    while (left := processes_of(results)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def read_results(results: Path, benchmark: str) -> ReportInput:
    """Return what a report would be made from."""
    return read_report_input(ResultsFolder(results / benchmark))


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
