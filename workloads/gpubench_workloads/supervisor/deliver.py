"""Handing the result over: the whole in the attempt's folder, the compact form to whoever waits."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from gpubench.api.compact import compact_result
from gpubench.api.layout import (
    COMPACT_FILE,
    LOG_FILE,
    PROFILE_FOLDER,
    RECIPE_FILE,
    RESULT_FILE,
    STEPS_FILE,
)
from gpubench.api.result import Artifact, RunResult
from gpubench_workloads.reporting.atomic_file import write_atomically

TERMINATION_LOG_VARIABLE = "GPUBENCH_TERMINATION_LOG"
"""Environment variable that names the file which becomes a pod's termination message."""


def deliver(result: RunResult, attempt_folder: Path) -> RunResult:
    """Write the result, last of all files and at once; return it with its artifacts.

    The compact form goes first to the termination message, so that the numbers survive a results
    volume that is full or gone.

    Raises:
        OSError: the results folder cannot be written.
    """
    complete = result.model_copy(update={"artifacts": list(_artifacts(attempt_folder))})
    document = complete.to_document()
    message = hand_over(complete)
    write_atomically(attempt_folder / COMPACT_FILE, message)
    write_atomically(attempt_folder / RESULT_FILE, document)
    return complete


def hand_over(result: RunResult) -> str:
    """Write the compact form to the termination message, where there is one, and return it."""
    digest = json.loads(result.to_document())["digest"]
    message = compact_result(result, digest).to_message()
    termination_log = os.environ.get(TERMINATION_LOG_VARIABLE)
    if termination_log:
        Path(termination_log).write_text(message, encoding="utf-8")
    return message


def _artifacts(attempt_folder: Path) -> Iterable[Artifact]:
    for path in _artifact_paths(attempt_folder):
        content_hash = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(2**20):
                content_hash.update(chunk)
        yield Artifact(
            path=path.relative_to(attempt_folder).as_posix(),
            size_bytes=path.stat().st_size,
            sha256=content_hash.hexdigest(),
        )


def _artifact_paths(attempt_folder: Path) -> Iterable[Path]:
    for name in (STEPS_FILE, RECIPE_FILE, LOG_FILE):
        if (attempt_folder / name).is_file():
            yield attempt_folder / name
    profile = attempt_folder / PROFILE_FOLDER
    if profile.is_dir():
        yield from sorted(path for path in profile.rglob("*") if path.is_file())
