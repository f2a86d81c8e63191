"""What the parts of a profile tell each other: by files, by pipes and by the environment."""

from __future__ import annotations

from pathlib import Path

from gpubench.api.base import ApiModel
from gpubench.api.layout import PROFILE_FOLDER, RANKS_FOLDER
from gpubench_workloads.reporting.atomic_file import write_atomically
from gpubench_workloads.reporting.rank_report import ProfileSource

PROFILER_VARIABLE = "GPUBENCH_PROFILER"
"""Environment variable that tells a rank which profiler it has (a `ProfileSource`)."""
PROFILER_LIFE_VARIABLE = "GPUBENCH_PROFILER_LIFE"
"""Environment variable with the number of an open file: a pipe that closes when nsys has ended."""
STARTED = b"started "
"""What a rank tells its keeper first, followed by its process id."""
DONE = b"done"
"""What a rank tells its keeper last, if its program reached its end."""
REPORT_SUFFIXES = {ProfileSource.NSYS: "nsys-rep", ProfileSource.KINETO: "kineto.json.gz"}


class KeeperRecord(ApiModel):
    """What became of the nsys around a rank."""

    nsys_exit: int | None = None
    """Its exit code, negative for a signal; none if it was not started."""
    kept_rank: bool = False
    """Whether it started the rank."""
    problem: str | None = None
    """Why it could not be started."""
    exposed: list[int] = []
    """Processes because of which it was not started: it would have written down their secrets."""
    overdue: bool = False
    """Whether it was killed because its report took too long."""
    agent_lost: bool = False
    """Whether it says that its agent, which collects what it records, has ended before it."""


def report_path(
    attempt_folder: Path, rank: int, source: ProfileSource = ProfileSource.NSYS
) -> Path:
    """Return where the report of a rank lies."""
    return attempt_folder / PROFILE_FOLDER / f"rank-{rank}.{REPORT_SUFFIXES[source]}"


def keeper_record_path(attempt_folder: Path, rank: int) -> Path:
    """Return where the record of a rank's keeper lies."""
    return attempt_folder / RANKS_FOLDER / f"keeper-{rank}.json"


def nsys_log_path(attempt_folder: Path, rank: int) -> Path:
    """Return where lies what the nsys around a rank had to say."""
    return attempt_folder / RANKS_FOLDER / f"nsys-{rank}.log"


def write_keeper_record(attempt_folder: Path, rank: int, record: KeeperRecord) -> None:
    """Put the record where the supervisor looks for it."""
    text = record.model_dump_json(by_alias=True, exclude_none=True)
    write_atomically(keeper_record_path(attempt_folder, rank), text)


def read_keeper_record(attempt_folder: Path, rank: int) -> KeeperRecord | None:
    """Return the record of a rank's keeper; None if it has none, or did not live to write it."""
    path = keeper_record_path(attempt_folder, rank)
    return KeeperRecord.model_validate_json(path.read_bytes()) if path.exists() else None
