"""The options that say which cluster is meant, the same for every command.

A command is about the cluster where `--backend kubernetes` is given, or one of `--namespace`,
`--context`, `--kubeconfig`; else about this machine and its results folder.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gpubench.cli import exit_codes
from gpubench.cli.errors import fail
from gpubench.cluster import ClusterChoice

BACKEND_VARIABLE = "GPUBENCH_BACKEND"


class BackendChoice(StrEnum):
    """Where benchmarks run."""

    LOCAL = "local"
    KUBERNETES = "kubernetes"


def _cluster_choice(
    backend: Annotated[
        BackendChoice | None,
        typer.Option(
            envvar=BACKEND_VARIABLE,
            help="This machine, or a cluster (also where one of the three below is given).",
        ),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="Cluster: which namespace."),
    ] = None,
    context: Annotated[
        str | None, typer.Option(metavar="NAME", help="Cluster: which context of the kubeconfig.")
    ] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Cluster: which kubeconfig.")
    ] = None,
) -> ClusterChoice | None:
    """Return the cluster that the options mean, None for this machine."""
    named = [
        option
        for option, value in (
            ("--namespace", namespace),
            ("--context", context),
            ("--kubeconfig", kubeconfig),
        )
        if value is not None
    ]
    if backend is BackendChoice.LOCAL and named:
        message = f"{named[0]}: goes with --backend kubernetes, not with local"
        raise fail(message, exit_codes.BAD_INPUT)
    if backend is BackendChoice.KUBERNETES or named:
        return ClusterChoice(context=context, namespace=namespace, kubeconfig=kubeconfig)
    return None


_OPTIONS = inspect.signature(_cluster_choice, eval_str=True).parameters


def with_cluster_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the cluster's options; it takes what they mean as its argument `cluster`."""
    signature = inspect.signature(command, eval_str=True)
    own = [each for each in signature.parameters.values() if each.name != "cluster"]

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> None:
        options = {name: arguments.pop(name) for name in _OPTIONS}
        command(**arguments, cluster=_cluster_choice(**options))

    parameters = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *_OPTIONS.values())
    ]
    wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
    # typer asks inspect, which would look through `functools.wraps` to the command itself.
    vars(wrapped)["__signature__"] = inspect.Signature(parameters)
    del vars(wrapped)["__wrapped__"]
    return wrapped
