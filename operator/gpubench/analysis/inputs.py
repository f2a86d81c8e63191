"""What a report is made from: values that a shell has read, and nothing that is read here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gpubench.api.benchmark import GPUBenchmark, Workload
from gpubench.api.enums import Outcome, RunPhase
from gpubench.api.result import Device, Failure, RunResult


class Verdict(StrEnum):
    """Whether a run may be used. Every run has exactly one, so that none is left out silently."""

    VALID = "valid"
    INVALID = "invalid"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True)
class ReportRun:
    """One run as the shell found it, with or without a result."""

    name: str
    point_hash: str
    repetition: int
    parameters: Mapping[str, object]
    """The swept axes in the order in which the benchmark lists them."""
    workload: Workload
    gpus: int
    attempts: tuple[RunResult, ...] = ()
    """Results of all attempts that left one, in their order."""
    accepted: RunResult | None = None
    """The result that stands for the run, valid or invalid."""
    state: RunPhase = RunPhase.PENDING
    given_up: Failure | None = None
    """Why the run was given up where no attempt could write it down (a lost node, say)."""
    attempts_made: int | None = None
    """How many attempts there were, those that left no result too; None: all of them left one."""

    @property
    def result(self) -> RunResult | None:
        """The result that stands for the run; one whose training failed stands for nothing."""
        if self.accepted is None or self.accepted.outcome is not Outcome.SUCCEEDED:
            return None
        return self.accepted

    @property
    def valid_result(self) -> RunResult | None:
        """The result whose numbers may be used: averaged, compared, taken as a baseline."""
        return self.accepted if self.verdict is Verdict.VALID else None

    @property
    def verdict(self) -> Verdict:
        """Judge the run by its result first and by its state where it has none."""
        if self.result is not None:
            return Verdict.VALID if self.result.is_valid else Verdict.INVALID
        return Verdict.FAILED if self.state is RunPhase.FAILED else Verdict.MISSING

    @property
    def attempt_count(self) -> int:
        """How often the run was tried."""
        return len(self.attempts) if self.attempts_made is None else self.attempts_made

    @property
    def failure(self) -> Failure | None:
        """The last failure that is known, None if the run has a result."""
        if self.result is not None:
            return None
        failures = [attempt.failure for attempt in self.attempts if attempt.failure]
        return self.given_up or (failures[-1] if failures else None)

    @property
    def device(self) -> Device | None:
        """What the run trained on, as far as any of its attempts can tell."""
        known = [attempt.device for attempt in self.attempts if attempt.device]
        if self.result is not None and self.result.device is not None:
            return self.result.device
        return known[-1] if known else None


@dataclass(frozen=True)
class ReportInput:
    """Everything that a report is made from."""

    benchmark: GPUBenchmark
    runs: Sequence[ReportRun]
    """Every run of the sweep, those without a result too."""
    generated_at: datetime
    """When the report is made, in UTC."""
    source: str
    """Where the results come from, for people: a folder or a namespace."""
