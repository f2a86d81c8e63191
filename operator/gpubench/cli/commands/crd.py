"""gpubench crd: the CustomResourceDefinitions, generated from the models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def crd(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write one file each, not to stdout."),
    ] = None,
) -> None:
    """Print the CustomResourceDefinitions for a cluster.

    They are applied by `gpubench crd | kubectl apply --server-side -f -`.
    """
    from gpubench.api.crd import render_crds

    files = render_crds()
    if output is None:
        print("---\n".join(files.values()), end="")
        return
    output.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (output / name).write_text(text, encoding="utf-8")
        print(output / name)
