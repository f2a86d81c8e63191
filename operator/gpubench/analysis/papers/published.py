"""Published measurements as data: which of our points they match, and what they leave out."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from gpubench.analysis.metrics import ITERATION, TOTAL_TIME, Metric
from gpubench.api.enums import DeviceKind

Value = str | int | bool | None


class _PaperModel(BaseModel):
    """Strict, so that a misspelt key in a data file is an error and not a silent gap."""

    model_config = ConfigDict(
        alias_generator=to_camel, frozen=True, extra="forbid", populate_by_name=True
    )


class PaperRow(_PaperModel):
    """One row of a published table."""

    match: dict[str, Value]
    """Parameters of the row, under their names in a spec."""
    value: Annotated[float, Field(gt=0)]
    """Seconds of total time, or milliseconds per iteration, as the table's metric says."""
    accuracy: Annotated[float, Field(ge=0, le=100)] | None = None
    """Accuracy in percent."""
    total_seconds: Annotated[float, Field(gt=0)] | None = None
    """Total time where the table's metric is another one."""


class PaperTable(_PaperModel):
    """One published table."""

    key: str
    label: str
    caption: str
    metric: Literal["totalTime", "iteration"]
    not_stated: tuple[str, ...]
    """What a reader must know before comparing."""
    match: dict[str, Value]
    """Parameters that all rows share."""
    plain: dict[str, Value]
    """Parameters that a match may differ in; the difference is then stated."""
    alike: dict[str, dict[str, str]] = {}
    """By parameter: our value, and the paper's other value that it stands beside."""
    rows: tuple[PaperRow, ...]

    @property
    def measured(self) -> Metric:
        """What the rows' values measure."""
        return TOTAL_TIME if self.metric == "totalTime" else ITERATION


class Paper(_PaperModel):
    """One publication."""

    key: str
    name: str
    """How it is called in a heading."""
    citation: str
    arxiv: str
    hardware: str
    device_kind: DeviceKind
    device_pattern: str
    """Part of a device's name by which it is taken for the paper's model."""
    tables: tuple[PaperTable, ...]


@cache
def load_papers() -> tuple[Paper, ...]:
    """Return every publication in this folder, by file name."""
    files = [
        entry
        for entry in resources.files("gpubench.analysis.papers").iterdir()
        if entry.name.endswith(".yaml")
    ]
    return tuple(
        Paper.model_validate(yaml.safe_load(entry.read_text(encoding="utf-8")))
        for entry in sorted(files, key=lambda entry: entry.name)
    )
