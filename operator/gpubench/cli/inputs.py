"""Benchmark files and results folders as commands take them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gpubench.api.benchmark import GPUBenchmark
    from gpubench.store import ResultsFolder

BenchmarkFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="GPUBenchmark in YAML or JSON.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Replace a field of the spec, such as gpus=2."
    ),
]
ResultsOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of results.")
]
BenchmarkName = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of a benchmark, or its results folder.")
]

DEFAULT_RESULTS = Path("results")


def read_benchmark(file: Path, overrides: list[str] | None = None) -> GPUBenchmark:
    """Read and check a benchmark file.

    Raises:
        SpecError: it cannot be read, or is not a benchmark that can be run.
    """
    from gpubench.api.errors import SpecError
    from gpubench.api.parsing import parse_benchmark

    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SpecError.of("", "not a text file (UTF-8)", str(file)) from None
    except OSError as error:
        raise SpecError.of("", error.strerror or str(error), str(file)) from None
    return parse_benchmark(text, str(file), overrides or ())


def find_results(name: str, results: Path) -> ResultsFolder:
    """Return the results folder of a benchmark, given by name or by path.

    Raises:
        ResultsFolderError: there is none; names those that are there.
    """
    from gpubench.api.layout import BENCHMARK_FILE
    from gpubench.store import ResultsFolder, ResultsFolderError, list_benchmarks

    for path in (results / name, Path(name)):
        if (path / BENCHMARK_FILE).exists():
            return ResultsFolder(path)
    known = [folder.path.name for folder in list_benchmarks(results)]
    there = (
        f"there are: {', '.join(known)}"
        if known
        else f"{results} holds none (a cluster's: --backend kubernetes)"
    )
    msg = f"{name}: no results of such a benchmark; {there}"
    raise ResultsFolderError(msg)
