"""A results folder beside the statuses of the runs that it was brought from."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpubench.api.benchmark import GPUBenchmark, Metadata
from gpubench.api.enums import AttemptState
from gpubench.api.layout import BENCHMARK_FILE, attempt_folder_name
from gpubench.api.run import GPUBenchmarkRun
from gpubench.cluster.errors import ClusterError
from gpubench.cluster.statuses import status_of
from gpubench.store import ResultsFolder

Attempt = tuple[str, int]
"""Name of the run, number of the attempt."""


@dataclass(frozen=True)
class Verification:
    """What the statuses say of results, and whether the folder holds the same."""

    verified: int
    """Results whose digest is that in the status."""
    different: tuple[str, ...]
    """Attempts whose result is not what the status says it is."""
    absent: tuple[str, ...]
    """Attempts that the status has numbers of, and the folder no whole result."""


def check_origin(folder: ResultsFolder, uid: str) -> None:
    """See that the folder holds results of this benchmark and no other.

    Raises:
        ClusterError: it holds those of another one: of this machine, or of that name before.
    """
    if not (folder.path / BENCHMARK_FILE).exists():
        return
    metadata = folder.read_benchmark().metadata
    if (metadata.model_extra or {}).get("uid") != uid:
        msg = (
            f"{folder.path} holds results of another benchmark of this name; give another "
            "--output, or move them away"
        )
        raise ClusterError(msg)


def origin(benchmark: GPUBenchmark, namespace: str, uid: str) -> GPUBenchmark:
    """Return the benchmark as the folder keeps it, with what tells it from others."""
    kept = {"name": benchmark.name, "namespace": namespace, "uid": uid}
    return GPUBenchmark(metadata=Metadata.model_validate(kept), spec=benchmark.spec)


def attempts_that_run(runs: Sequence[GPUBenchmarkRun]) -> set[Attempt]:
    """Return the attempts that are not over, whose files still change."""
    live = (AttemptState.PENDING, AttemptState.RUNNING)
    return {(r.name, a.number) for r in runs for a in status_of(r).attempts if a.state in live}


def attempts_here(folder: ResultsFolder, runs: Sequence[GPUBenchmarkRun]) -> set[Attempt]:
    """Return the attempts whose whole result the folder holds, and the status no other one."""
    found = set()
    for run in runs:
        told = _told_digest(run)
        for stored in folder.attempts(run.name):
            digest = stored.result.digest if stored.result else None
            if digest is not None and told.get(stored.number, digest) == digest:
                found.add((run.name, stored.number))
    return found


def attempts_over(runs: Sequence[GPUBenchmarkRun]) -> set[Attempt]:
    """Return the attempts that are over."""
    every = {(r.name, a.number) for r in runs for a in status_of(r).attempts}
    return every - attempts_that_run(runs)


def as_paths(attempts: set[Attempt]) -> list[str]:
    """Return the folders of attempts below that of their benchmark."""
    return sorted(f"{run}/{attempt_folder_name(number)}" for run, number in attempts)


def move_in(source: Path, folder: ResultsFolder) -> int:
    """Put each attempt that was brought into its place, whole; return how many there were."""
    brought = sorted(source.glob("*/attempt-*"))
    for attempt in brought:
        place = folder.path / attempt.relative_to(source)
        place.parent.mkdir(exist_ok=True)
        if place.exists():
            shutil.rmtree(place)
        attempt.rename(place)
    shutil.rmtree(source, ignore_errors=True)
    return len(brought)


def verify(folder: ResultsFolder, runs: Sequence[GPUBenchmarkRun]) -> Verification:
    """Compare the digests of all results with those that pods handed to the API server."""
    verified, different, absent = 0, [], []
    for run in runs:
        stored = {each.number: each.result for each in folder.attempts(run.name)}
        for number, digest in _told_digest(run).items():
            where = f"{run.name}/{attempt_folder_name(number)}"
            result = stored.get(number)
            if result is None:
                absent.append(where)
            elif result.digest == digest:
                verified += 1
            else:
                different.append(where)
    return Verification(verified, tuple(different), tuple(absent))


def _told_digest(run: GPUBenchmarkRun) -> dict[int, str]:
    result = status_of(run).result
    return {result.attempt: result.digest} if result else {}
