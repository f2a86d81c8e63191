"""Which reports a path stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from gpubench.profiles.errors import ProfileError

SUFFIXES = (".nsys-rep", ".sqlite", ".json", ".json.gz")
"""Of reports, in the order in which one of several forms of the same rank is taken: the report
itself before an export of it, which may be of another one."""
_Key = TypeVar("_Key", int, str)
_RANK = re.compile(r"rank-(\d+)")


def find_reports(path: Path) -> dict[int, Path]:
    """Return the reports that a path stands for, by rank.

    A report is itself. A folder is an export as parquet files, or holds a report for each rank, as
    `profile/rank-0.nsys-rep` or under any names, which then are ranks in their order. The folder of
    a run stands for its last attempt that has reports.

    Raises:
        ProfileError: there are none.
    """
    if not path.exists():
        msg = f"{path}: there is no such report or folder"
        raise ProfileError(msg)
    if path.is_file() or any(path.glob("*.parquet")):
        return {_rank(path) or 0: path}
    attempts = sorted(path.glob("attempt-*"), key=_attempt, reverse=True)
    for folder in (path / "profile", path, *(attempt / "profile" for attempt in attempts)):
        found = _by_rank(folder)
        if found:
            return found
    msg = f"{path}: there are no reports in this folder (looked for {', '.join(SUFFIXES)})"
    raise ProfileError(msg)


def _by_rank(folder: Path) -> dict[int, Path]:
    if not folder.is_dir():
        return {}
    reports = [path for path in sorted(folder.iterdir()) if _form(path) is not None]
    if any(_rank(path) is not None for path in reports):
        ranked = _preferred((rank, path) for path in reports if (rank := _rank(path)) is not None)
        return dict(sorted(ranked.items()))
    named = _preferred((_stem(path), path) for path in reports)
    return dict(enumerate(named[stem] for stem in sorted(named)))


def _preferred(reports: Iterable[tuple[_Key, Path]]) -> dict[_Key, Path]:
    ordered = sorted(reports, key=lambda report: _form(report[1]) or 0, reverse=True)
    return dict(ordered)


def _form(path: Path) -> int | None:
    """Return the place of a report's form in the order of preference; None if it is no report."""
    if path.is_dir():
        return len(SUFFIXES) if any(path.glob("*.parquet")) else None
    fitting = (place for place, suffix in enumerate(SUFFIXES) if path.name.endswith(suffix))
    return next(fitting, None)


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _rank(path: Path) -> int | None:
    found = _RANK.match(path.name)
    return int(found[1]) if found else None


def _attempt(folder: Path) -> int:
    number = folder.name.removeprefix("attempt-")
    return int(number) if number.isdecimal() else 0
