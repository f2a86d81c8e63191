"""The supervisor's part of a profile: which profiler, and what came of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gpubench.api.enums import KeepReports, NsysMode
from gpubench.api.layout import PROFILE_FOLDER
from gpubench.api.profile import Profile
from gpubench.api.result import Gate
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.profiling.nsys import find_nsys
from gpubench_workloads.profiling.overhead import Overhead, measure_overhead
from gpubench_workloads.profiling.records import read_keeper_record, report_path
from gpubench_workloads.profiling.reduction import ReductionError, reduce_reports
from gpubench_workloads.profiling.verdict import RankOutcome, profile_gate
from gpubench_workloads.reporting.rank_report import ProfileSource, RankReport

REDUCTION_SECONDS = 600.0
"""How long the reduction may take at most."""


@dataclass(frozen=True)
class TakenProfile:
    """A profile as far as there is one, and the gate that says what became of it."""

    profile: Profile | None
    gate: Gate


def choose_profiler(spec: RunSpec) -> ProfileSource | None:
    """Return who is to take the profile of a run; None if none is asked for."""
    if spec.profiling.nsys.mode is NsysMode.DISABLED:
        return None
    return ProfileSource.KINETO if find_nsys() is None else ProfileSource.NSYS


def take_profile(
    spec: RunSpec,
    attempt_folder: Path,
    ranks: Sequence[RankReport],
    steps: pl.DataFrame,
    is_stopped: Callable[[], bool],
) -> TakenProfile:
    """Reduce what the ranks' profilers left, and keep or remove it as the spec wants it."""
    outcomes = [_outcome(attempt_folder, report) for report in ranks]
    reports = {
        outcome.rank: report_path(attempt_folder, outcome.rank, outcome.covers.source)
        for outcome in outcomes
        if outcome.covers is not None and outcome.is_readable
    }
    profile: Profile | None = None
    problem: str | None = None
    if reports:
        try:
            profile = reduce_reports(reports, REDUCTION_SECONDS, is_stopped)
        except (ReductionError, OSError) as error:
            problem = str(error)
    overhead = measure_overhead(steps)
    if profile is not None:
        profile = _completed(profile, outcomes, overhead)
    gate = profile_gate(outcomes, profile, overhead, problem)
    keep = spec.profiling.nsys.keep_reports
    if keep is KeepReports.NEVER or (keep is KeepReports.ON_FAILURE and gate.passed):
        shutil.rmtree(attempt_folder / PROFILE_FOLDER, ignore_errors=True)
    else:
        _remove_empty(attempt_folder / PROFILE_FOLDER)
    return TakenProfile(profile, gate)


def _outcome(attempt_folder: Path, report: RankReport) -> RankOutcome:
    covers = report.profile
    size: int | None = None
    if covers is not None:
        with suppress(OSError):
            size = report_path(attempt_folder, report.rank, covers.source).stat().st_size
    return RankOutcome(
        rank=report.rank,
        covers=covers,
        keeper=read_keeper_record(attempt_folder, report.rank),
        report_bytes=size,
    )


def _completed(
    profile: Profile, outcomes: Sequence[RankOutcome], overhead: Overhead | None
) -> Profile:
    """Add what the training knows and its reports do not."""
    covered = [outcome.covers for outcome in outcomes if outcome.covers is not None]
    first = [covers.first_step for covers in covered if covers.first_step is not None]
    window = profile.window.model_copy(
        update={
            "first_step": min(first, default=None),
            "steps": max((covers.steps for covers in covered), default=None),
        }
    )
    return profile.model_copy(
        update={"window": window, "overhead": overhead.ratio if overhead else None}
    )


def _remove_empty(folder: Path) -> None:
    """Remove reports that hold nothing."""
    for path in folder.glob("*"):
        if path.is_file() and path.stat().st_size == 0:
            path.unlink()
