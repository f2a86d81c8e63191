"""What an exporter serves -> readings of its GPUs. Pure.

Labels are parsed by prometheus_client, once for each series: a scrape has the same ones as the
last. A line that is not whole and plain is counted as a problem and nothing is taken from it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

from gpubench.telemetry.dcgm.fields import FIELDS, XID_COUNTS, Field, is_blank

MAX_KNOWN_SERIES = 50_000
MAX_PROBLEMS = 8
MAX_SHOWN = 100
MAX_LINE = 4096
"""The longest lines, with the labels of a pod on them, have about 1,000 characters."""

UUID_LABELS = ("UUID", "uuid")
INSTANCE_LABEL = "GPU_I_ID"
PROFILE_LABEL = "GPU_I_PROFILE"
# dcgm-exporter's own, those of its --use-old-namespace, and Prometheus' when it federates.
POD_LABELS = (
    ("exported_namespace", "exported_pod"),
    ("namespace", "pod"),
    ("pod_namespace", "pod_name"),
)

_UUID = re.compile(r"(GPU-)?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# prometheus_client reads on where a label has no value, as where two lines ran into one.
_HEAD = re.compile(r'\w+\{\w+="(?:[^"\\]|\\.)*"(?:,\w+="(?:[^"\\]|\\.)*")*,?')
_VALUE = re.compile(
    r"(?P<value>[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|Inf|NaN))(?: (?P<time>-?\d{1,15}))?"
)


class ExpositionError(ValueError):
    """What an exporter served cannot be used; the text says why, on one line."""


@dataclass(frozen=True, order=True)
class GpuId:
    """A GPU, or one MIG instance of it."""

    uuid: str
    instance: str = ""
    """GPU instance id; empty for a whole GPU."""


@dataclass(frozen=True, order=True)
class PodId:
    """A pod that the exporter names."""

    namespace: str
    name: str


@dataclass
class GpuReading:
    """What one exposition says of a GPU."""

    index: str = ""
    profile: str = ""
    """Profile of a MIG instance."""
    pods: set[PodId] = field(default_factory=set)
    """Pods that the exporter names as its users."""
    values: dict[Field, float] = field(default_factory=dict)
    """Of the GPU."""
    pod_values: dict[PodId, dict[Field, float]] = field(default_factory=dict)
    """Of each pod, where the exporter tells pods on a shared GPU apart."""
    xid_counts: dict[int, float] = field(default_factory=dict)
    """How often each XID error was seen of late."""
    timestamp: float | None = None
    """When the values were taken by the exporter's clock, in seconds since the epoch, if told."""


@dataclass(frozen=True)
class Exposition:
    """What one scrape gave."""

    gpus: Mapping[GpuId, GpuReading]
    problems: tuple[str, ...] = ()
    """What could not be read or cannot be; the first few, then how many more."""

    @property
    def is_partial(self) -> bool:
        """Whether something was left out."""
        return bool(self.problems)


@dataclass(frozen=True)
class _Series:
    name: str
    gpu: GpuId
    index: str
    profile: str
    pod: PodId | None
    xid: int | None


class ExpositionParser:
    """Reads the expositions of an exporter."""

    def __init__(self) -> None:
        self._known: dict[str, _Series | str] = {}
        """A series, or why it is none, by its name and labels."""

    def parse(self, text: str) -> Exposition:
        """Read an exposition.

        Raises:
            ExpositionError: nothing in it is of a GPU by DCGM.
        """
        lines = text.split("\n")
        # Text ends with a newline. What is behind the last one was cut, even if it looks whole.
        cut = lines.pop()
        reading = _Reading()
        if cut:
            reading.complain(f"cut off in: {cut}")
        if len(self._known) > MAX_KNOWN_SERIES:
            self._known.clear()
        for line in lines:
            name = line.partition("{")[0]
            if name in FIELDS or name == XID_COUNTS:
                self._take(line, reading)
        gpus = reading.gpus()
        if not gpus:
            reason = reading.problems[0] if reading.problems else "no DCGM_FI_ series of a GPU"
            raise ExpositionError(reason)
        return Exposition(gpus, reading.summary())

    def _take(self, line: str, reading: _Reading) -> None:
        head, _, tail = line.rstrip("\r").rpartition("} ")
        found = _VALUE.fullmatch(tail)
        if found is None or len(line) > MAX_LINE:
            reading.complain(f"not a sample: {line}")
            return
        series = self._known.get(head)
        if series is None:
            series = self._known[head] = _read_series(head)
        if isinstance(series, str):
            reading.complain(series)
            return
        value = float(found["value"])
        if not is_blank(value):
            reading.add(series, value, found["time"])


def _read_series(head: str) -> _Series | str:
    """Return the series of a line up to its last brace, or what is wrong with it."""
    if not _HEAD.fullmatch(head):
        return f"not a series: {head}"
    try:
        (family,) = text_string_to_metric_families(f"{head}}} 0\n")
        (sample,) = family.samples
    except ValueError:
        return f"not a series: {head}"
    labels = sample.labels
    uuid = next((labels[name] for name in UUID_LABELS if name in labels), "")
    instance = labels.get(INSTANCE_LABEL, "")
    if not _UUID.fullmatch(uuid) or not (instance.isdecimal() or instance == ""):
        return f"no GPU's series: {head}"
    xid = labels.get("xid", "")
    return _Series(
        name=head.partition("{")[0],
        gpu=GpuId(uuid, instance),
        index=_index(labels),
        profile=labels.get(PROFILE_LABEL, ""),
        pod=_pod(labels),
        xid=int(xid) if xid.isdecimal() and len(xid) <= len("99999") else None,
    )


def _index(labels: Mapping[str, str]) -> str:
    """Return which GPU of which machine it is."""
    host = labels.get("hostname") or labels.get("Hostname") or ""
    return f"{host}/{labels['gpu']}" if labels.get("gpu") else ""


def _pod(labels: Mapping[str, str]) -> PodId | None:
    for namespace, pod in POD_LABELS:
        if labels.get(namespace) and labels.get(pod):
            return PodId(labels[namespace], labels[pod])
    return None


class _Reading:
    """Gathers the samples of one exposition."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._more = 0
        self._gpus: dict[GpuId, GpuReading] = {}
        self._told: dict[tuple[GpuId, Field], dict[PodId | None, float]] = defaultdict(dict)
        self._contradicted: dict[tuple[GpuId, Field], set[PodId | None]] = defaultdict(set)

    def complain(self, text: str) -> None:
        """Take note of a problem."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}...")
        else:
            self._more += 1

    def summary(self) -> tuple[str, ...]:
        """Return the problems."""
        return (*self.problems, f"and {self._more} more") if self._more else tuple(self.problems)

    def add(self, series: _Series, told: float, timestamp: str | None) -> None:
        """Take over a sample."""
        if series.name == XID_COUNTS:
            if series.xid is not None:
                self._gpu(series, timestamp).xid_counts[series.xid] = told
            return
        spec = FIELDS[series.name]
        value = spec.value(told)
        if value is None:
            self.complain(f"{series.name} of {series.gpu.uuid} cannot be {told:g}")
            return
        reading = self._gpu(series, timestamp)
        if series.pod is not None:
            reading.pods.add(series.pod)
        values = self._told[series.gpu, spec.field]
        if values.setdefault(series.pod, value) != value:
            self._contradicted[series.gpu, spec.field].add(series.pod)

    def _gpu(self, series: _Series, timestamp: str | None) -> GpuReading:
        reading = self._gpus.setdefault(series.gpu, GpuReading(series.index, series.profile))
        if timestamp is not None:
            reading.timestamp = max(reading.timestamp or 0.0, float(timestamp) / 1000)
        return reading

    def gpus(self) -> dict[GpuId, GpuReading]:
        """Return what is told of each GPU, without what contradicts itself."""
        for (gpu, name), values in self._told.items():
            for pod in self._contradicted.get((gpu, name), ()):
                self.complain(f"{name} of {gpu.uuid} is told twice, differently")
                del values[pod]
            self._settle(self._gpus[gpu], name, values)
        for gpu in self._misplaced():
            self.complain(f"{gpu.uuid} is not the only GPU with its index")
            del self._gpus[gpu]
        return {
            gpu: reading
            for gpu, reading in self._gpus.items()
            if reading.values or reading.pod_values
        }

    def _settle(self, reading: GpuReading, name: Field, values: dict[PodId | None, float]) -> None:
        """Tell a GPU's value from those of the pods on it.

        An exporter repeats a GPU's value for each pod; where it knows what each pod has of it, it
        tells the GPU's own value beside them.
        """
        of_pods = {pod: value for pod, value in values.items() if pod is not None}
        if None in values:
            reading.values[name] = values[None]
            for pod, value in of_pods.items():
                reading.pod_values.setdefault(pod, {})[name] = value
        elif len(set(of_pods.values())) == 1:
            reading.values[name] = next(iter(of_pods.values()))
        elif of_pods:
            self.complain(f"{name} differs between the pods of a GPU, and its own is not told")

    def _misplaced(self) -> Iterable[GpuId]:
        """Return GPUs that cannot all be: two with one index."""
        by_index = defaultdict(set)
        for gpu, reading in self._gpus.items():
            if reading.index:
                by_index[reading.index].add(gpu.uuid)
        crowded = {uuid for uuids in by_index.values() if len(uuids) > 1 for uuid in uuids}
        return [gpu for gpu in self._gpus if gpu.uuid in crowded]
