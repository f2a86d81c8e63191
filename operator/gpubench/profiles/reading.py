"""From reports of any form to a profile."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpubench.api.profile import Profile
from gpubench.profiles.errors import ProfileError
from gpubench.profiles.events import Trace
from gpubench.profiles.kineto import KinetoTrace
from gpubench.profiles.nsys.export import export_report, remove
from gpubench.profiles.nsys.parquet import ParquetSource
from gpubench.profiles.nsys.sqlite import SqliteSource
from gpubench.profiles.nsys.trace import NsysTrace
from gpubench.profiles.polars_errors import POLARS_ERRORS, first_line
from gpubench.profiles.profile import make_profile
from gpubench.profiles.reduction import RankNumbers, reduce_trace

MOST_NAMES = 30
"""Names that a result lists of kernels, of unmapped calls and of foreign ranges."""

FORMS = ".nsys-rep, .sqlite, a folder of parquet files, .json or .json.gz"


def read_profile(
    reports: Mapping[int, Path],
    scratch: Path,
    *,
    nsys: Path | None = None,
    whole: bool = False,
    most_names: int | None = MOST_NAMES,
) -> Profile:
    """Return what reports come to, one of each rank.

    `scratch` is a folder for exports, which are made anew and removed again; `nsys` the program
    that makes them, by default the one of PATH. With `whole` everything counts that a report holds,
    else what began within the range `window` of the domain `gpubench`, where there is one.

    Reports that cannot be read are told in the profile's `notes`.

    Raises:
        ProfileError: none can be read; one line says why.
    """
    if not reports:
        msg = "no reports"
        raise ProfileError(msg)
    numbers: dict[int, RankNumbers] = {}
    failed: dict[int, str] = {}
    for rank, report in sorted(reports.items()):
        try:
            numbers[rank] = _read_report(report, scratch / f"rank-{rank}", nsys, whole=whole)
        except ProfileError as error:
            failed[rank] = str(error)
    if not numbers:
        raise ProfileError(next(iter(failed.values())))
    profile = make_profile(numbers, most_names=most_names)
    unread = [f"The report of rank {rank} cannot be read: {why}" for rank, why in failed.items()]
    return profile.model_copy(update={"notes": unread + profile.notes})


def _read_report(report: Path, scratch: Path, nsys: Path | None, *, whole: bool) -> RankNumbers:
    try:
        if report.suffix != ".nsys-rep":
            return reduce_trace(open_trace(report), whole=whole)
        _check_there(report)
        scratch.mkdir(parents=True, exist_ok=True)
        export = export_report(report, scratch, nsys)
        try:
            return reduce_trace(open_trace(export), whole=whole)
        finally:
            remove(export)
    except ProfileError as error:
        text = str(error)
        raise ProfileError(text if str(report) in text else f"{report}: {text}") from None
    except POLARS_ERRORS as error:
        msg = f"{report}: it cannot be read ({first_line(error)})"
        raise ProfileError(msg) from None


def open_trace(report: Path) -> Trace:
    """Return the events of an export or a trace, by the form that its name tells.

    Raises:
        ProfileError: it is not there, or not in a form that is known.
    """
    _check_there(report)
    if report.is_dir():
        return NsysTrace(ParquetSource(report))
    if report.suffix == ".sqlite":
        return NsysTrace(SqliteSource(report))
    if report.name.endswith((".json", ".json.gz")):
        return KinetoTrace(report)
    msg = f"{report}: not a form of report that is known; known are {FORMS}"
    raise ProfileError(msg)


def _check_there(report: Path) -> None:
    if not report.exists():
        msg = f"{report}: there is no such report"
        raise ProfileError(msg)
