"""CompactResult: a result in the 4,096 bytes that a pod's termination message may have.

Every string is cut, every list is bounded and every number is rounded to six significant digits,
so that the longest possible document fits; tests build that document.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gpubench.api.base import ApiModel
from gpubench.api.enums import (
    DeviceKind,
    FailureClass,
    Family,
    GateName,
    Outcome,
    ValidityStatus,
)
from gpubench.api.result import Device, DeviceTelemetry, Profile, RunResult, Telemetry

MAX_MESSAGE_BYTES = 4096
"""Limit that the kubelet sets for a container's termination message."""
MAX_RANKS = 8
MAX_TEXT_BYTES = 240
MAX_NAME_BYTES = 48
MAX_FAMILY_CALLS = 10**9
UUID_DIGITS = 8
"""How much of a GPU's UUID is told: as much as tells the GPUs of a machine apart."""
UUID_PREFIX = "GPU-"
SIGNIFICANT_DIGITS = 6

Seconds = Annotated[float, Field(ge=0, le=1e9)]
Rate = Annotated[float, Field(ge=0, le=1e12)]
Share = Annotated[float, Field(ge=0, le=1)]
Calls = Annotated[int, Field(ge=0, le=10**12)]
FamilyCalls = Annotated[int, Field(ge=0, le=MAX_FAMILY_CALLS)]
Bytes = Annotated[int, Field(ge=0, le=10**15)]
ShortName = Annotated[str, Field(max_length=MAX_NAME_BYTES)]


class CompactFailure(ApiModel):
    """Why the attempt failed."""

    failure_class: FailureClass
    """Decides whether the run is tried again."""
    message: Annotated[str, Field(max_length=MAX_TEXT_BYTES)]
    """One line, cut where it is long."""
    exit_code: Annotated[int, Field(ge=-255, le=255)] | None = None
    """Exit code of the rank that failed first; negative for a signal."""


class CompactDevice(ApiModel):
    """What the run trained on."""

    kind: DeviceKind
    """CPU or CUDA."""
    name: ShortName
    """Model."""
    count: Annotated[int, Field(ge=1, le=1024)]
    """GPUs, or ranks on a CPU."""
    uuids: Annotated[str, Field(max_length=MAX_RANKS * (UUID_DIGITS + 1) - 1)] | None = None
    """First digits of the GPUs' UUIDs, with spaces between; left out where there is no room."""

    @property
    def uuid_beginnings(self) -> list[str]:
        """How the GPUs' UUIDs begin, in the form that nvidia-smi takes, too."""
        return [UUID_PREFIX + digits for digits in (self.uuids or "").split()]


class CompactIteration(ApiModel):
    """Seconds per steady step."""

    mean: Seconds
    """Mean."""
    std: Seconds
    """Sample standard deviation."""
    p50: Seconds
    """Median."""
    p95: Seconds
    """95th percentile."""
    p99: Seconds
    """99th percentile."""


class CompactTelemetry(ApiModel):
    """Means over the GPUs; energy and traffic are sums, memory and temperature maxima."""

    utilization: Share | None = None
    """Share of time with a kernel running."""
    sm_active: Share | None = None
    """Share of multiprocessors active."""
    power_watts: Annotated[float, Field(ge=0, le=1e6)] | None = None
    """Mean power of a GPU."""
    energy_joules: Annotated[float, Field(ge=0, le=1e12)] | None = None
    """Energy of all GPUs."""
    memory_used_bytes: Bytes | None = None
    """Most memory in use on a GPU."""
    temperature_celsius: Annotated[float, Field(ge=-273, le=1000)] | None = None
    """Highest temperature."""
    sm_clock_mhz: Annotated[float, Field(ge=0, le=1e5)] | None = None
    """Mean clock."""
    pcie_bytes: Bytes | None = None
    """Bytes over PCIe, both directions."""
    nvlink_bytes: Bytes | None = None
    """Bytes over NVLink."""


class CompactFamily(ApiModel):
    """A family of profiler events over all ranks."""

    calls: FamilyCalls
    """Events; the largest number stands for that many or more."""
    seconds: Seconds
    """Sum of their durations."""
    max_rank: Seconds | None = None
    """Seconds of the rank with most."""


class CompactProfile(ApiModel):
    """A profile as numbers."""

    source: Literal["Nsys", "Kineto"]
    """The profiler."""
    window_seconds: Seconds
    """Length of the window."""
    overhead: Annotated[float, Field(ge=-1, le=1e6)] | None = None
    """Profiled over unprofiled iteration time, minus 1."""
    idle_share: Share | None = None
    """Share of the window in which the GPU did nothing."""
    exposed_seconds: Seconds | None = None
    """Time in which GPUs communicated and did not compute, over all ranks."""
    families: Annotated[dict[Family, CompactFamily], Field(max_length=len(Family))]
    """Where the time went."""


class CompactResult(ApiModel):
    """What a pod hands back: the numbers of one attempt and the digest of the whole result."""

    schema_version: Literal[1] = 1
    """Version of this form."""
    run: Annotated[str, Field(max_length=63)]
    """Name of the run."""
    attempt: Annotated[int, Field(ge=1, le=999)]
    """Which try."""
    point_hash: Annotated[str, Field(max_length=10)]
    """Stable hash of what was run."""
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", max_length=64)]
    """Digest of the whole result in the results folder."""
    outcome: Outcome
    """Whether it trained to its end."""
    failure: CompactFailure | None = None
    """Why not."""
    validity: ValidityStatus | None = None
    """Whether the numbers may be used."""
    failed_gates: Annotated[list[GateName], Field(max_length=len(GateName))] = []
    """The checks that did not pass."""
    device: CompactDevice | None = None
    """What it trained on."""
    setup_seconds: Seconds | None = None
    """From the start of the processes to the first step."""
    training_seconds: Seconds | None = None
    """All epochs."""
    evaluation_seconds: Seconds | None = None
    """Evaluation."""
    total_seconds: Seconds | None = None
    """The whole attempt."""
    steps: Calls | None = None
    """Optimizer steps."""
    iteration: CompactIteration | None = None
    """Seconds per steady step."""
    samples_per_second: Rate | None = None
    """Trained samples of all ranks."""
    dataset_samples_per_second: Rate | None = None
    """Progress through the dataset."""
    tokens_per_second: Rate | None = None
    """Real tokens."""
    accuracy: Share | None = None
    """On the test set."""
    final_loss: Annotated[float, Field(ge=-1e12, le=1e12)] | None = None
    """Mean training loss of the last epoch."""
    flops_per_second: Annotated[float, Field(ge=0, le=1e18)] | None = None
    """Arithmetic rate of all ranks."""
    mfu: Annotated[float, Field(ge=0, le=100)] | None = None
    """Rate over the devices' peak."""
    peak_memory_bytes: Annotated[list[Bytes], Field(max_length=MAX_RANKS)] = []
    """Peak memory of each rank: on the GPU, on a CPU resident."""
    telemetry: CompactTelemetry | None = None
    """What the GPUs did."""
    profile: CompactProfile | None = None
    """Where the time went; never beside a failure, the two would not fit."""
    profile_problem: Annotated[str, Field(max_length=MAX_TEXT_BYTES)] | None = None
    """Why there is no profile, though one was asked for; never beside one."""

    @model_validator(mode="after")
    def _check_room(self) -> Self:
        if self.failure is not None and self.profile is not None:
            msg = "a failed attempt carries no profile"
            raise ValueError(msg)
        if self.profile_problem is not None and self.profile is not None:
            msg = "a profile's problem does not fit beside it"
            raise ValueError(msg)
        return self

    def to_message(self) -> str:
        """Return the termination message: JSON of `MAX_MESSAGE_BYTES` at most."""
        content = self.to_json_dict()
        message = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
        if len(message.encode()) > MAX_MESSAGE_BYTES:
            content.get("device", {}).pop("uuids", None)
            message = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
        assert len(message.encode()) <= MAX_MESSAGE_BYTES
        return message

    @classmethod
    def from_message(cls, message: str) -> Self:
        """Read a termination message.

        Raises:
            ValueError: it is missing, cut or not of this form.
        """
        return cls.model_validate_json(message)


def compact_result(result: RunResult, digest: str) -> CompactResult:
    """Return the compact form of a result; `digest` is that of its document."""
    timing = result.timing
    iteration = timing.iteration if timing else None
    validity = result.validity
    throughput = result.throughput
    quality = result.quality
    efficiency = result.efficiency
    content: dict[str, object] = {
        "run": result.identity.run,
        "attempt": result.identity.attempt,
        "point_hash": result.identity.point_hash,
        "digest": digest,
        "outcome": result.outcome,
        "failure": _compact_failure(result),
        "validity": validity.status if validity else None,
        "failed_gates": _unique_failed_gates(result),
        "device": _compact_device(result.device) if result.device else None,
        "setup_seconds": timing and _rounded(timing.setup_seconds),
        "training_seconds": timing and _rounded(timing.training_seconds),
        "evaluation_seconds": timing and _rounded(timing.evaluation_seconds),
        "total_seconds": timing and _rounded(timing.total_seconds),
        "steps": timing and timing.steps,
        "iteration": iteration
        and {name: _rounded(getattr(iteration, name)) for name in CompactIteration.model_fields},
        "samples_per_second": throughput and _rounded(throughput.samples_per_second),
        "dataset_samples_per_second": throughput
        and _rounded(throughput.dataset_samples_per_second),
        "tokens_per_second": throughput and _rounded(throughput.tokens_per_second),
        "accuracy": quality and _rounded(quality.accuracy),
        "final_loss": quality and _rounded(quality.final_loss),
        "flops_per_second": efficiency and _rounded(efficiency.flops_per_second),
        "mfu": efficiency and _rounded(efficiency.mfu),
        "peak_memory_bytes": [
            memory.allocated_bytes or memory.resident_bytes or 0 for memory in result.memory
        ][:MAX_RANKS],
        "telemetry": _compact_telemetry(result.telemetry) if result.telemetry else None,
        "profile": _compact_profile(result.profile)
        if result.profile and not result.failure
        else None,
        "profile_problem": _profile_problem(result),
    }
    return CompactResult.model_validate(content)


def cut_text(text: str, max_bytes: int) -> str:
    """Return the text on one line, cut so that its JSON form has `max_bytes` at most."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if _json_bytes(line) <= max_bytes:
        return line
    while _json_bytes(line) > max_bytes - len("…".encode()):
        line = line[:-1]
    return line + "…"


def _json_bytes(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode(errors="replace")) - 2


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{SIGNIFICANT_DIGITS}g}")


def _unique_failed_gates(result: RunResult) -> list[GateName]:
    failed = result.validity.failed_gates if result.validity else []
    return list(dict.fromkeys(gate.name for gate in failed))


def _profile_problem(result: RunResult) -> str | None:
    if result.profile is not None or result.validity is None:
        return None
    failed = [gate for gate in result.validity.failed_gates if gate.name is GateName.PROFILE]
    return cut_text(failed[0].message, MAX_TEXT_BYTES) if failed else None


def _compact_failure(result: RunResult) -> CompactFailure | None:
    failure = result.failure
    if failure is None:
        return None
    return CompactFailure(
        failure_class=failure.failure_class,
        message=cut_text(failure.message, MAX_TEXT_BYTES),
        exit_code=failure.exit_code,
    )


def _compact_device(device: Device) -> CompactDevice:
    return CompactDevice(
        kind=device.kind,
        name=cut_text(device.name, MAX_NAME_BYTES),
        count=device.count,
        uuids=" ".join(
            uuid.removeprefix(UUID_PREFIX)[:UUID_DIGITS] for uuid in device.uuids[:MAX_RANKS]
        )
        or None,
    )


def _compact_telemetry(telemetry: Telemetry) -> CompactTelemetry:
    devices = telemetry.devices

    def values(name: str) -> list[float]:
        return [v for device in devices if (v := getattr(device, name)) is not None]

    def mean(name: str) -> float | None:
        found = values(name)
        return _rounded(sum(found) / len(found)) if found else None

    traffic = [_pcie_bytes(device) for device in devices]
    known_traffic = [value for value in traffic if value is not None]
    nvlink = values("nvlink_bytes")
    energy = values("energy_joules")
    memory = values("memory_used_peak_bytes")
    return CompactTelemetry(
        utilization=mean("utilization_mean"),
        sm_active=mean("sm_active_mean"),
        power_watts=mean("power_mean_watts"),
        energy_joules=_rounded(sum(energy)) if energy else None,
        memory_used_bytes=int(max(memory)) if memory else None,
        temperature_celsius=_rounded(max(values("temperature_max_celsius"), default=None)),
        sm_clock_mhz=mean("sm_clock_mean_mhz"),
        pcie_bytes=sum(known_traffic) if known_traffic else None,
        nvlink_bytes=int(sum(nvlink)) if nvlink else None,
    )


def _pcie_bytes(device: DeviceTelemetry) -> int | None:
    directions = (device.pcie_receive_bytes, device.pcie_transmit_bytes)
    known = [value for value in directions if value is not None]
    return sum(known) if known else None


def _compact_profile(profile: Profile) -> CompactProfile:
    activity = profile.activity
    families = {
        family: CompactFamily(
            calls=min(statistics.calls, MAX_FAMILY_CALLS),
            seconds=_rounded(statistics.total_seconds) or 0.0,
            max_rank=_rounded(max(statistics.rank_total_seconds, default=None)),
        )
        for family, statistics in profile.families.items()
    }
    return CompactProfile(
        source=profile.source,
        window_seconds=_rounded(profile.window.seconds) or 0.0,
        overhead=_rounded(profile.overhead),
        idle_share=_rounded(profile.idle_share),
        exposed_seconds=_rounded(activity.exposed_communication_seconds) if activity else None,
        families=families,
    )
