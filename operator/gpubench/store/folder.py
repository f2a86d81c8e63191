"""The results folder of one benchmark."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from gpubench.api.benchmark import GPUBenchmark
from gpubench.api.layout import BENCHMARK_FILE, LOCK_FILE, attempt_folder_name
from gpubench.store.attempts import StoredAttempt, read_attempts
from gpubench.store.lock import FolderLock
from gpubench.store.text_files import write_atomically


class ResultsFolderError(Exception):
    """A results folder cannot be used; the message names it and says why."""


@dataclass(frozen=True)
class ResultsFolder:
    """Results of one benchmark: `<results>/<benchmark>`."""

    path: Path

    @classmethod
    def create(cls, results: Path, benchmark_name: str) -> ResultsFolder:
        """Make the folder of a benchmark below `results`, or take the one that is there.

        Raises:
            ResultsFolderError: it cannot be made or written to.
        """
        path = results / benchmark_name
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe = path / ".writable"
            probe.write_text("x", encoding="utf-8")
            probe.unlink()
        except OSError as error:
            msg = f"--output {results}: cannot write there ({error.strerror})"
            raise ResultsFolderError(msg) from None
        return cls(path)

    @property
    def lock(self) -> FolderLock:
        """The lock that a writer holds."""
        return FolderLock(self.path / LOCK_FILE)

    def attempts(self, run: str) -> list[StoredAttempt]:
        """Return a run's attempts, oldest first.

        Raises:
            ResultVersionError: a result was written by a newer gpubench.
        """
        return read_attempts(self.path / run)

    def create_attempt(self, run: str, attempt: int) -> Path:
        """Make the folder of a new attempt; it must not be there yet."""
        path = self.path / run / attempt_folder_name(attempt)
        path.mkdir(parents=True)
        return path

    def write_benchmark(self, benchmark: GPUBenchmark) -> None:
        """Keep the benchmark beside its results, so that a report needs no other file."""
        document = json.dumps(benchmark.to_manifest(), indent=1) + "\n"
        write_atomically(self.path / BENCHMARK_FILE, document)

    def read_benchmark(self) -> GPUBenchmark:
        """Return the benchmark as it was last run.

        Raises:
            ResultsFolderError: the folder holds none, or not one that this gpubench reads.
        """
        path = self.path / BENCHMARK_FILE
        try:
            return GPUBenchmark.model_validate_json(path.read_text(encoding="utf-8"))
        except OSError:
            msg = f"{self.path}: not a benchmark's results folder (no {BENCHMARK_FILE})"
            raise ResultsFolderError(msg) from None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            msg = f"{path}: {where}: {first['msg']}"
            raise ResultsFolderError(msg) from None


def list_benchmarks(results: Path) -> list[ResultsFolder]:
    """Return the benchmarks that have results below a folder, by name."""
    if not results.is_dir():
        return []
    return [
        ResultsFolder(path)
        for path in sorted(results.iterdir())
        if (path / BENCHMARK_FILE).exists()
    ]
