"""What produced the numbers, and where it was not the same for all of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from gpubench.analysis.inputs import ReportRun
from gpubench.analysis.parameters import flat_parameters
from gpubench.api.result import RunResult


@dataclass(frozen=True)
class Fact:
    """One statement about what produced a run's numbers."""

    group: str
    name: str
    value: str

    @property
    def subject(self) -> tuple[str, str]:
        return (self.group, self.name)


@dataclass(frozen=True)
class Origin:
    """One subject, such as torch's version, with every value that it had."""

    group: str
    name: str
    values: tuple[tuple[str, tuple[str, ...]], ...]
    """Each value with the names of the runs that had it, the most frequent first."""
    is_mixed: bool
    """Whether runs differ in it that should not."""


SOFTWARE = "Software"
HARDWARE = "Hardware"
DEVICE = "Device"
DATASET = "Dataset"
SETTINGS = "Settings"

_GROUPS = (SOFTWARE, DEVICE, HARDWARE, DATASET, SETTINGS)


def origins(runs: Iterable[ReportRun]) -> tuple[Origin, ...]:
    """Return what every result says about its origin, subject by subject."""
    seen: dict[tuple[str, str], dict[str, list[str]]] = {}
    scopes: dict[tuple[tuple[str, str], Hashable], set[str]] = {}
    for run in runs:
        for fact in _facts(run.result) if run.result else ():
            seen.setdefault(fact.subject, {}).setdefault(fact.value, []).append(run.name)
            scopes.setdefault((fact.subject, _scope(fact, run)), set()).add(fact.value)
    mixed = {subject for (subject, _), values in scopes.items() if len(values) > 1}
    found = [
        Origin(*subject, values=_by_frequency(values), is_mixed=subject in mixed)
        for subject, values in seen.items()
    ]
    return tuple(sorted(found, key=lambda origin: _GROUPS.index(origin.group)))


def _by_frequency(values: dict[str, list[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    ordered = sorted(values.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple((value, tuple(names)) for value, names in ordered)


def _facts(result: RunResult) -> Iterator[Fact]:
    provenance = result.provenance
    for group, name, known in (
        (SOFTWARE, "gpubench", provenance.gpubench_version),
        (SOFTWARE, "image", provenance.image),
        (HARDWARE, "node", provenance.node),
    ):
        if known:
            yield Fact(group, name, known)
    for group, values in (
        (SOFTWARE, provenance.software),
        (HARDWARE, provenance.hardware),
        (DATASET, provenance.dataset),
        (SETTINGS, provenance.settings),
    ):
        for name, value in values.items():
            yield Fact(group, name, value)
    if result.device:
        yield Fact(DEVICE, result.device.kind.value, result.device.name)
        for uuid in result.device.uuids:
            yield Fact(DEVICE, "UUID", uuid)
        if result.device.threads_per_rank:
            yield Fact(SETTINGS, "threads per rank", str(result.device.threads_per_rank))


def _scope(fact: Fact, run: ReportRun) -> Hashable:
    """Return within which runs a fact has to be the same.

    Software: in all of them. The dataset: wherever the spec asks for the same one. Settings
    follow from the parameters, so they have to agree between repetitions of a point. Machines may
    differ on a cluster (another device is reported by itself).
    """
    if fact.group == SOFTWARE:
        return None
    if fact.group == DATASET:
        flat = flat_parameters(run.workload, run.gpus)
        return frozenset(item for item in flat.items() if item[0].startswith("dataset"))
    if fact.group == SETTINGS:
        return run.point_hash
    return run.name if fact.name != "UUID" else (run.name, fact.value)
