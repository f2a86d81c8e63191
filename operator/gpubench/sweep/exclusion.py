"""Leaving points of the matrix out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gpubench.api.errors import Problem
from gpubench.api.sweep import Parameters
from gpubench.sweep.parameters import Values, comparable, displayed, given_values
from gpubench.sweep.plan import describe_parameters

Key = tuple[Any, ...]


class Exclusion:
    """Tells which combinations of values the entries of `exclude` leave out.

    Entries that name the same parameters share one table, so that a combination is looked up once
    for all of them: a thousand entries cost as much as one.
    """

    def __init__(self, entries: Sequence[Parameters]) -> None:
        self._entries = [given_values(entry) for entry in entries]
        self._unmatched = set(range(len(entries)))
        self._tables: dict[tuple[str, ...], dict[Key, list[int]]] = {}
        for index, values in enumerate(self._entries):
            table = self._tables.setdefault(tuple(values), {})
            table.setdefault(_key(values, values), []).append(index)

    def leaves_out(self, values: Values) -> bool:
        """Whether some entry has all its values here; remembers which entries did."""
        matched = [
            index
            for names, table in self._tables.items()
            for index in table.get(_key(values, names), ())
        ]
        self._unmatched.difference_update(matched)
        return bool(matched)

    def empty_entries(self) -> list[Problem]:
        """Return a problem for each entry that names no parameter and so means every point."""
        return self._problems(
            lambda index: not self._entries[index], "names no parameter: it would leave out all"
        )

    def idle_entries(self) -> list[Problem]:
        """Return a problem for each entry that has left nothing out."""
        return self._problems(
            self._unmatched.__contains__, "matches no point of the matrix: {entry}"
        )

    def _problems(self, is_wrong: Callable[[int], bool], message: str) -> list[Problem]:
        return [
            Problem(
                f"spec.sweep.exclude[{index}]",
                message.format(entry=describe_parameters(displayed(values))),
            )
            for index, values in enumerate(self._entries)
            if is_wrong(index)
        ]


def _key(values: Values, names: Iterable[str]) -> Key:
    return tuple(comparable(name, values[name]) for name in names)
