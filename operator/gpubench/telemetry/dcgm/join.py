"""Which GPUs of which exporter were a run's. Pure: what is ambiguous is said, not guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpubench.api.enums import TelemetryJoin
from gpubench.telemetry.dcgm.exposition import GpuId, PodId
from gpubench.telemetry.dcgm.history import ExporterHistory, Sample


@dataclass(frozen=True)
class Attempt:
    """An attempt whose GPUs are looked for. Times are seconds since the epoch."""

    number: int
    pod: PodId
    node: str | None
    began_at: float
    """When its pod started."""
    ended_at: float
    """When its pod ended."""
    gpus: int | None = None
    """GPUs that it asked for."""
    uuids: Sequence[str] = ()
    """UUIDs of its GPUs, or their beginnings, by its own word."""


@dataclass(frozen=True)
class JoinedGpu:
    """A GPU of the attempt."""

    gpu: GpuId
    exporter: str
    history: ExporterHistory
    shared: bool

    @property
    def samples(self) -> list[Sample]:
        """All that was seen of it, before and after the attempt, too."""
        return self.history.gpus[self.gpu].samples


@dataclass
class Join:
    """What was found, and what was not."""

    by: TelemetryJoin | None = None
    gpus: list[JoinedGpu] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def join(attempt: Attempt, exporters: Mapping[str, ExporterHistory]) -> Join:
    """Find an attempt's GPUs among what the exporters of its node have shown, by their addresses.

    By pod where an exporter names it. Else by the UUIDs that the attempt told, unless the exporter
    had another pod on such a GPU meanwhile, or shows it in MIG instances.
    """
    found = _by_pod(attempt, exporters)
    if not found.gpus:
        found = _by_uuid(attempt, exporters)
    _leave_one_exporter(found)
    if found.gpus and attempt.gpus is not None and len(found.gpus) != attempt.gpus:
        found.notes.append(
            f"the exporter shows {len(found.gpus)} GPUs of the run, it asked for {attempt.gpus}"
        )
    return found


def _during(samples: Sequence[Sample], attempt: Attempt) -> list[Sample]:
    return [s for s in samples if attempt.began_at <= s.time <= attempt.ended_at]


def _by_pod(attempt: Attempt, exporters: Mapping[str, ExporterHistory]) -> Join:
    found = Join(by=TelemetryJoin.POD)
    for address, history in exporters.items():
        for gpu, known in sorted(history.gpus.items()):
            # Samples may be older than they were seen: the first ones after the end count, too.
            pods = [s.pods for s in known.samples if s.time >= attempt.began_at]
            if any(attempt.pod in each for each in pods):
                shared = any(attempt.pod in each and len(each) > 1 for each in pods)
                found.gpus.append(JoinedGpu(gpu, address, history, shared))
    if any(gpu.shared for gpu in found.gpus):
        found.notes.append(
            "other pods were on the same GPU at the same time; numbers that cannot be told apart "
            "are left out"
        )
    if any(gpu.gpu.instance for gpu in found.gpus):
        found.notes.append(
            "the run had a MIG instance; power, energy and traffic are the whole GPU's and left out"
        )
    return found


def _by_uuid(attempt: Attempt, exporters: Mapping[str, ExporterHistory]) -> Join:
    found = Join()
    if not exporters:
        return found
    if not attempt.uuids:
        found.notes.append(
            f"no exporter named the pod {attempt.pod.namespace}/{attempt.pod.name}, and the run "
            "told no UUIDs of GPUs"
        )
        return found
    for uuid in dict.fromkeys(attempt.uuids):
        gpus = [
            JoinedGpu(gpu, address, history, shared=False)
            for address, history in exporters.items()
            for gpu in sorted(history.gpus)
            if gpu.uuid.startswith(uuid)
        ]
        doubt = _doubt(uuid, gpus, attempt)
        if doubt:
            found.notes.append(doubt)
        else:
            found.gpus += gpus
    if found.gpus:
        found.by = TelemetryJoin.GPU_UUID
    return found


def _doubt(uuid: str, gpus: Sequence[JoinedGpu], attempt: Attempt) -> str | None:
    """Return why a UUID cannot be said to be one certain GPU's."""
    if not gpus:
        return f"no exporter shows {uuid}"
    if len({each.gpu.uuid for each in gpus}) > 1:
        return f"{uuid} is the beginning of several GPUs' UUIDs"
    if any(each.gpu.instance for each in gpus):
        return f"{uuid} is divided into MIG instances, and the exporter does not say which was ours"
    others = {
        f"{pod.namespace}/{pod.name}"
        for each in gpus
        for sample in _during(each.samples, attempt)
        for pod in sample.pods - {attempt.pod}
    }
    if others:
        return f"the exporter had {', '.join(sorted(others)[:3])} on {uuid} at that time"
    return None


def _leave_one_exporter(found: Join) -> None:
    """Where several exporters show a GPU, keep the one that shows most of it."""
    best: dict[GpuId, JoinedGpu] = {}
    for each in found.gpus:
        known = best.get(each.gpu)
        if known is None or len(each.samples) > len(known.samples):
            best[each.gpu] = each
    if len(best) < len(found.gpus):
        found.notes.append("several exporters show the same GPU; the one with most samples counts")
    found.gpus = list(best.values())
