"""RunResult: what one attempt measured, in full, under a version."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from gpubench.api.base import ApiModel
from gpubench.api.benchmark import Workload
from gpubench.api.enums import FailureClass, GateName, Outcome, ValidityStatus
from gpubench.api.measurements import (
    Amount,
    Count,
    Device,
    DeviceTelemetry,
    Distribution,
    Efficiency,
    Finite,
    Quality,
    RankMemory,
    Ratio,
    StepPhases,
    Telemetry,
    Throughput,
    Timing,
    Work,
)
from gpubench.api.profile import (
    CopyStatistics,
    EventStatistics,
    FamilyStatistics,
    GpuActivity,
    NameStatistics,
    PhaseStatistics,
    Profile,
    ProfileWindow,
)
from gpubench.api.run_spec import RunIdentity

__all__ = [
    "RESULT_VERSION",
    "Amount",
    "Artifact",
    "CopyStatistics",
    "Count",
    "Device",
    "DeviceTelemetry",
    "Distribution",
    "Efficiency",
    "EventStatistics",
    "Failure",
    "FamilyStatistics",
    "Finite",
    "Gate",
    "GpuActivity",
    "NameStatistics",
    "Parameters",
    "PhaseStatistics",
    "Profile",
    "ProfileWindow",
    "Provenance",
    "Quality",
    "RankMemory",
    "Ratio",
    "ResultDamagedError",
    "ResultVersionError",
    "RunResult",
    "StepPhases",
    "Telemetry",
    "Throughput",
    "Timing",
    "Validity",
    "Work",
]

RESULT_VERSION = 1


class Parameters(ApiModel):
    """What was run."""

    workload: Workload
    """The training program with every parameter written out."""
    gpus: Annotated[int, Field(ge=1)]
    """Ranks, or GPUs of DataParallel's one process."""


class Provenance(ApiModel):
    """What produced the numbers."""

    gpubench_version: str | None = None
    """Version of gpubench; not known of a result that was read from a status."""
    started_at: str
    """Start of the attempt, RFC 3339 in UTC."""
    finished_at: str
    """End of the attempt, RFC 3339 in UTC."""
    node: str | None = None
    """Name of the machine; not known of a result that was read from a status."""
    image: str | None = None
    """Image with digest, in a pod."""
    software: dict[str, str] = {}
    """Versions: python, torch, torchvision, cuda, cudnn, nccl, driver, nsys."""
    hardware: dict[str, str] = {}
    """Processor, cores, memory, GPU topology."""
    dataset: dict[str, str] = {}
    """Name, sizes and content hash of the dataset."""
    settings: dict[str, str] = {}
    """What the workload resolved by itself: casting, epsilon, backend, threads."""


class Gate(ApiModel):
    """One check and its outcome."""

    name: GateName
    """The check."""
    passed: bool
    """Whether it holds."""
    message: str
    """What was looked at and found."""


class Validity(ApiModel):
    """Whether the result may be used, and by which checks."""

    status: ValidityStatus
    """Valid if every gate passed, but for `Profile`, which says only what became of that."""
    gates: list[Gate]
    """Every check that was made."""

    @classmethod
    def from_gates(cls, gates: list[Gate]) -> Self:
        """Judge by the gates: valid only if all passed, but for that of the profile.

        A profile that is missing takes nothing away from what the training measured.
        """
        valid = all(gate.passed for gate in gates if gate.name is not GateName.PROFILE)
        status = ValidityStatus.VALID if valid else ValidityStatus.INVALID
        return cls(status=status, gates=gates)

    @property
    def failed_gates(self) -> list[Gate]:
        """The checks that did not pass."""
        return [gate for gate in self.gates if not gate.passed]


class Failure(ApiModel):
    """Why an attempt failed."""

    failure_class: FailureClass
    """Decides whether the run is tried again."""
    message: str
    """One line for a person."""
    rank: Count | None = None
    """The rank that failed first, where one is known."""
    exit_code: int | None = None
    """Its exit code; negative for a signal."""


class Artifact(ApiModel):
    """A file of the attempt's folder."""

    path: str
    """Below the attempt's folder."""
    size_bytes: Count
    """Size."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Content."""


class RunResult(ApiModel):
    """What one attempt measured, or how it failed."""

    schema_version: Literal[1] = 1
    """Version of this form."""
    identity: RunIdentity
    """Which attempt."""
    parameters: Parameters
    """What was run."""
    outcome: Outcome
    """Whether it trained to its end."""
    failure: Failure | None = None
    """Why not."""
    validity: Validity | None = None
    """Whether the numbers may be used; none where the attempt failed."""
    device: Device | None = None
    """What it trained on."""
    timing: Timing | None = None
    """Where the time went."""
    throughput: Throughput | None = None
    """Steady-state speed."""
    work: Work | None = None
    """What was done."""
    quality: Quality | None = None
    """Whether it learned."""
    memory: list[RankMemory] = []
    """Peak memory per rank."""
    efficiency: Efficiency | None = None
    """Arithmetic rate."""
    telemetry: Telemetry | None = None
    """What the GPUs did."""
    profile: Profile | None = None
    """Where the time went, by family."""
    provenance: Provenance
    """What produced the numbers."""
    artifacts: list[Artifact] = []
    """The other files of the attempt's folder."""
    digest: str | None = None
    """SHA-256 over the rest of this document; set when it is written."""

    @property
    def is_valid(self) -> bool:
        """Whether the attempt succeeded and passed every gate."""
        return self.validity is not None and self.validity.status is ValidityStatus.VALID

    def to_document(self) -> str:
        """Return the result as JSON text that carries its own digest."""
        content = self.model_copy(update={"digest": None}).to_json_dict()
        content["digest"] = _digest(content)
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_document(cls, text: str) -> Self:
        """Read what `to_document` wrote.

        Raises:
            ResultVersionError: the document was written by a newer gpubench.
            ResultDamagedError: the text is not the whole of what was written.
        """
        try:
            content = json.loads(text)
        except ValueError as error:
            msg = f"not complete JSON ({error})"
            raise ResultDamagedError(msg) from None
        if not isinstance(content, dict):
            msg = "not a JSON object"
            raise ResultDamagedError(msg)
        version = content.get("schemaVersion")
        if isinstance(version, int) and version > RESULT_VERSION:
            msg = (
                f"schemaVersion: {version} was written by a newer gpubench; "
                f"this one reads up to {RESULT_VERSION}"
            )
            raise ResultVersionError(msg)
        rest = {key: value for key, value in content.items() if key != "digest"}
        if content.get("digest") != _digest(rest):
            msg = "its digest does not match its content"
            raise ResultDamagedError(msg)
        return cls.model_validate(content)


class ResultDamagedError(ValueError):
    """A result document is cut or changed."""


class ResultVersionError(ValueError):
    """A result document is of a newer version than this gpubench reads."""


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
