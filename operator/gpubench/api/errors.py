"""What is wrong with a spec, said so that a person can put it right.

ValueError
  SpecError      a benchmark that cannot be run as it is written; one line per problem
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    path: str
    """The field, such as `spec.sweep.matrix.precision[0]`; empty for the whole file."""
    message: str
    """Value, complaint and what is allowed, on one line."""
    source: str = ""
    """The file; empty where the benchmark did not come from one."""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.source, self.path, self.message) if part)


class SpecError(ValueError):
    """A benchmark that cannot be run as it is written; its text has one line per problem."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        assert self.problems
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def of(cls, path: str, message: str, source: str = "") -> Self:
        """Return an error with one problem."""
        return cls([Problem(path, message, source)])

    def at(self, source: str) -> SpecError:
        """Return the same error with the name of the file in front of each line that names none."""
        return SpecError(replace(p, source=p.source or source) for p in self.problems)
