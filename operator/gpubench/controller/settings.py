"""What whoever installs the operator decides, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError

from gpubench.api.base import ApiModel, DnsName
from gpubench.api.enums import WorkloadKind
from gpubench.api.problems import describe_validation_error
from gpubench.api.schema import structural_schema
from gpubench.backends import PodSettings


class SettingsError(ValueError):
    """The settings file cannot be used; its text has one line per problem."""


class Images(ApiModel):
    """Default image of each workload."""

    image_recognition: str = ""
    """For workload.imageRecognition."""
    llm_tuning: str = ""
    """For workload.llmTuning."""


class DcgmEndpoint(ApiModel):
    """A dcgm-exporter at a fixed address."""

    url: Annotated[str, Field(pattern=r"^https?://[^ ]+$", max_length=512)]
    """Such as http://10.0.0.5:9400/metrics."""
    node: DnsName | None = None
    """The node whose GPUs it shows; by default it may be any."""


class DcgmSettings(ApiModel):
    """How the operator sees what DCGM sees on the GPUs of runs."""

    enabled: bool = True
    """Whether it looks at all. Where there is no exporter nothing happens."""
    endpoints: Annotated[list[DcgmEndpoint], Field(max_length=1000)] = []
    """Exporters at fixed addresses; if there are any, no others are looked for."""
    namespace: DnsName = "gpu-operator"
    """Where the exporters' pods are; whoever may make pods there is believed."""
    pod_selector: str = "app=nvidia-dcgm-exporter"
    """Which pods they are."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 9400
    """Their port."""
    interval_seconds: Annotated[int, Field(ge=1, le=300)] = 2
    """Shortest time from one look at an exporter to the next; it is asked more seldom where its
    own refresh is slower."""


class OperatorSettings(ApiModel):
    """The operator's settings."""

    namespaces: list[DnsName] = []
    """Namespaces to work in; none means all."""
    lease_name: DnsName = "gpubench-operator"
    """Lease that the acting replica holds, in the operator's own namespace."""
    lease_seconds: Annotated[int, Field(ge=3, le=600)] = 30
    """How long a replica that died still keeps the others from acting."""
    http_port: Annotated[int, Field(ge=1, le=65_535)] = 8080
    """Port of /metrics, /healthz and /readyz."""
    images: Images = Images()
    """Default images."""
    allowed_images: list[str] = []
    """Shell patterns of images that a benchmark may name beside the default ones."""
    allowed_priority_classes: list[str] = []
    """Priority classes that a benchmark may name."""
    image_pull_secrets: list[DnsName] = []
    """Pull secrets that every pod gets; they must be in the benchmark's namespace."""
    gpu_resource: str = "nvidia.com/gpu"
    """What pods ask for where they want GPUs."""
    simulated_gpus: bool = False
    """Pods ask for GPUs but train on their CPU: for a cluster whose device plugin is a fake."""
    run_as_user: Annotated[int, Field(ge=1, le=2**31 - 1)] = 65532
    """User and group of workload pods."""
    runtime_class_name: DnsName | None = None
    """Runtime class of workload pods, such as `nvidia`."""
    start_timeout_seconds: Annotated[int, Field(ge=10, le=604_800)] = 1800
    """Longest time that a pod may take to start, before its attempt is given up."""
    watch_nodes: bool = True
    """Whether the operator may read nodes, to know what they offer; else `maxGpus` says it."""
    max_gpus: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """GPUs that all benchmarks together may ask for; by default as many as nodes have."""
    dcgm: DcgmSettings = DcgmSettings()
    """What DCGM sees."""

    @property
    def pods(self) -> PodSettings:
        """The part that decides about pods."""
        return PodSettings(
            images={
                WorkloadKind.IMAGE_RECOGNITION: self.images.image_recognition,
                WorkloadKind.LLM_TUNING: self.images.llm_tuning,
            },
            image_pull_secrets=tuple(self.image_pull_secrets),
            gpu_resource=self.gpu_resource,
            simulated_gpus=self.simulated_gpus,
            run_as_user=self.run_as_user,
            runtime_class_name=self.runtime_class_name,
        )


def read_settings(path: Path) -> OperatorSettings:
    """Read the settings file.

    Raises:
        SettingsError: it cannot be read, or holds what it may not.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        msg = f"{path}: {' '.join(str(error).split())}"
        raise SettingsError(msg) from None
    try:
        return OperatorSettings.model_validate({} if values is None else values)
    except ValidationError as error:
        problems = describe_validation_error(error, structural_schema(OperatorSettings))
        lines = [f"{path}: {problem}" for problem in problems]
        raise SettingsError("\n".join(lines)) from None
