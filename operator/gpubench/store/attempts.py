"""Attempts as the disk holds them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from gpubench.api.enums import Outcome
from gpubench.api.layout import RESULT_FILE, RUN_SPEC_FILE, attempt_number
from gpubench.api.result import ResultDamagedError, RunResult
from gpubench.api.run_spec import RunSpec


@dataclass(frozen=True)
class StoredAttempt:
    """One attempt's folder. An attempt without a result was cut off: `damage` says how."""

    number: int
    path: Path
    spec: RunSpec | None
    result: RunResult | None
    damage: str | None

    @property
    def succeeded(self) -> bool:
        """Whether it holds a whole result of a training that reached its end."""
        return self.result is not None and self.result.outcome is Outcome.SUCCEEDED


def read_attempts(run_folder: Path) -> list[StoredAttempt]:
    """Return a run's attempts, oldest first; none for a run that was never started.

    Raises:
        ResultVersionError: a result was written by a newer gpubench.
    """
    if not run_folder.is_dir():
        return []
    numbered = [
        (number, path)
        for path in run_folder.iterdir()
        if (number := attempt_number(path.name)) is not None and path.is_dir()
    ]
    return [_read_attempt(number, path) for number, path in sorted(numbered)]


def _read_attempt(number: int, path: Path) -> StoredAttempt:
    spec = _read_spec(path / RUN_SPEC_FILE)
    try:
        result = RunResult.from_document((path / RESULT_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        damage = f"no {RESULT_FILE}: it was cut off"
    except (ResultDamagedError, ValidationError, UnicodeDecodeError) as error:
        damage = f"{RESULT_FILE} is damaged: {str(error).splitlines()[0]}"
    else:
        if (result.identity.run, result.identity.attempt) == (path.parent.name, number):
            return StoredAttempt(number, path, spec, result, damage=None)
        damage = f"{RESULT_FILE} is that of {result.identity.run}, {result.identity.attempt}"
    return StoredAttempt(number, path, spec, result=None, damage=damage)


def _read_spec(path: Path) -> RunSpec | None:
    try:
        return RunSpec.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
