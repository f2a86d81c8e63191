"""The sweep of a benchmark: axes of values, points added and left out, repetitions and order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, create_model

from gpubench.api.base import AS_SET, ApiModel, refuse_duplicates
from gpubench.api.enums import DatasetName, RunOrder
from gpubench.api.image_recognition import ImageRecognition
from gpubench.api.llm_tuning import LLMTuning

MAX_POINTS = 10_000
MAX_AXIS_VALUES = 64
NOT_SWEPT = frozenset({"weights"})

GpuCount = Annotated[int, Field(ge=1, le=8)]


def _parameter_fields() -> dict[str, tuple[Any, str]]:
    """Return each parameter that a sweep may vary: its name, type and description.

    They are the fields of the workloads themselves, so that an axis and the field it sets can
    never disagree. A parameter of both workloads accepts the values of the first; what its
    workload does not allow is refused when the point is made.
    """
    fields: dict[str, tuple[Any, str]] = {"gpus": (GpuCount, "GPUs per run.")}
    for workload in (ImageRecognition, LLMTuning):
        for name, field in workload.model_fields.items():
            if name in NOT_SWEPT or name in fields:
                continue
            annotation: Any = field.annotation
            if field.metadata:
                annotation = Annotated[annotation, *field.metadata]
            fields[name] = (annotation, field.description or "")
    fields["dataset"] = (DatasetName, "Name of the dataset; its other settings stay as they are.")
    return fields


PARAMETER_FIELDS = _parameter_fields()

if TYPE_CHECKING:
    # Their fields are derived above; readers go through `model_dump`.
    class Parameters(ApiModel):
        """Values of some parameters of a point."""

    class Matrix(ApiModel):
        """Axes of a sweep."""
else:
    Parameters = create_model(
        "Parameters",
        __base__=ApiModel,
        __module__=__name__,
        __doc__="Values of some parameters of a point.",
        **{
            name: (annotation | None, Field(default=None, description=description))
            for name, (annotation, description) in PARAMETER_FIELDS.items()
        },
    )
    Matrix = create_model(
        "Matrix",
        __base__=ApiModel,
        __module__=__name__,
        __doc__="Axes of a sweep: each lists the values that one parameter takes.",
        **{
            name: (
                Annotated[
                    list[annotation],
                    Field(min_length=1, max_length=MAX_AXIS_VALUES),
                    AfterValidator(refuse_duplicates),
                ]
                | None,
                Field(default=None, description=description, json_schema_extra=AS_SET),
            )
            for name, (annotation, description) in PARAMETER_FIELDS.items()
        },
    )


class Sweep(ApiModel):
    """Which points to run: (matrix without exclude) with include, each `repetitions` times."""

    matrix: Matrix = Matrix()
    """Axes; every combination of their values is a point. Without an axis there is one point, the
    workload as it stands."""
    include: Annotated[list[Parameters], Field(max_length=1000)] = []
    """Further points, each given by the parameters in which it differs from the workload."""
    exclude: Annotated[list[Parameters], Field(max_length=1000)] = []
    """Points of the matrix to leave out: those that have all the values of an entry."""
    repetitions: Annotated[int, Field(ge=1, le=100)] = 1
    """How often each point is run."""
    order: RunOrder = RunOrder.DECLARED
    """`Declared`: axis after axis (gpus, model, dataset, imageSize, epochs, batchSize, strategy,
    precision, and so on as the reference lists them), the last one fastest, then `include`; all of
    it once per repetition. `Shuffled`: at random by `orderSeed`. `Grouped`: all repetitions of a
    point one after the other."""
    order_seed: Annotated[int, Field(ge=0, le=2_147_483_647)] = 0
    """Seed of the order `Shuffled`."""
