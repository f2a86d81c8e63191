"""A file as the API server is given it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpubench.api.errors import SpecError
from gpubench.cluster import ClusterChoice

if TYPE_CHECKING:
    from pathlib import Path

    from gpubench.api.benchmark import GPUBenchmark

KEPT_METADATA = ("name", "labels", "annotations")


def manifest_of(benchmark: GPUBenchmark) -> dict[str, Any]:
    """Return what a user wrote, without defaults, which are the API server's to fill in.

    Only `suspend` is there in any case: who runs a benchmark wants it to go on.
    """
    written = benchmark.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    metadata = {
        key: written["metadata"][key] for key in KEPT_METADATA if key in written["metadata"]
    }
    return {
        "apiVersion": benchmark.api_version,
        "kind": benchmark.kind,
        "metadata": metadata,
        "spec": {**written["spec"], "suspend": benchmark.spec.suspend},
    }


def choice_for(benchmark: GPUBenchmark, choice: ClusterChoice) -> ClusterChoice:
    """Return the choice with the namespace that the file names, where the command names none.

    Raises:
        SpecError: both name one, and not the same.
    """
    named = benchmark.metadata.namespace
    if named is None or choice.namespace == named:
        return choice
    if choice.namespace is None:
        return replace(choice, namespace=named)
    message = f'"{named}" in the file, but --namespace {choice.namespace}'
    raise SpecError.of("metadata.namespace", message)


@contextmanager
def problems_of(file: Path) -> Iterator[None]:
    """Put the file's name in front of what the API server finds wrong with it."""
    try:
        yield
    except SpecError as error:
        raise error.at(str(file)) from None
