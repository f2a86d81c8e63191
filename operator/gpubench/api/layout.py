"""Names of the files and folders of results, the same on one machine and on a volume.

<results>/<benchmark>/benchmark.json            the benchmark as it was last run
<results>/<benchmark>/lock                      who works on it
<results>/<benchmark>/<run>/attempt-<n>/        one attempt
    run.json        what the process was given (RunSpec)
    progress.json   where it is (Progress), replaced about once a second
    result.json     what it measured (RunResult), written last and at once
    compact.json    the same in 4,096 bytes at most (CompactResult)
    steps.parquet   one row per rank and step
    recipe.yaml     the torchtune configuration that was composed (LLM tuning)
    log             output of the supervisor and of all ranks
    profile/        profiler reports
    ranks/          what each rank reported
"""

from __future__ import annotations

import re
from pathlib import PurePath

BENCHMARK_FILE = "benchmark.json"
LOCK_FILE = "lock"
RUN_SPEC_FILE = "run.json"
PROGRESS_FILE = "progress.json"
RESULT_FILE = "result.json"
COMPACT_FILE = "compact.json"
STEPS_FILE = "steps.parquet"
RECIPE_FILE = "recipe.yaml"
LOG_FILE = "log"
PROFILE_FOLDER = "profile"
RANKS_FOLDER = "ranks"

_ATTEMPT = re.compile(r"^attempt-([1-9][0-9]{0,2})$")


def attempt_folder_name(attempt: int) -> str:
    """Return the folder name of an attempt: attempt-1, attempt-2, ..."""
    return f"attempt-{attempt}"


def attempt_number(folder_name: str) -> int | None:
    """Return the attempt that a folder name stands for, None if it is not an attempt's."""
    match = _ATTEMPT.match(folder_name)
    return int(match.group(1)) if match else None


def attempt_path(benchmark: str, run: str, attempt: int) -> PurePath:
    """Return an attempt's folder below the results folder."""
    return PurePath(benchmark, run, attempt_folder_name(attempt))
