"""From the rooms' errors to one clear line and an exit code; users see no traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from gpubench.cli import exit_codes


def fail(message: str, code: int) -> typer.Exit:
    """Print what is wrong, and return the exception that ends the command with `code`."""
    for line in message.splitlines():
        print(f"error: {line}", file=sys.stderr)
    return typer.Exit(code)


@contextmanager
def reported_errors() -> Iterator[None]:
    """Turn what a user can put right into its message and exit code; bugs stay tracebacks."""
    from gpubench.api.errors import SpecError
    from gpubench.api.result import ResultVersionError
    from gpubench.cluster import ClusterError
    from gpubench.local.devices import WorkloadsMissingError
    from gpubench.local.preflight import CannotRunError
    from gpubench.store import FolderLockedError, ResultsFolderError

    try:
        yield
    except SpecError as error:
        raise fail(str(error), exit_codes.BAD_INPUT) from None
    except (
        CannotRunError,
        ClusterError,
        FolderLockedError,
        ResultsFolderError,
        ResultVersionError,
        WorkloadsMissingError,
    ) as error:
        raise fail(str(error), exit_codes.CANNOT_RUN) from None
