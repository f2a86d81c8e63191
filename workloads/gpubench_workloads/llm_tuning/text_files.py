"""A text dataset's files on disk: which they are, in which format, with which columns. No torch."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

import polars as pl

from gpubench.api.enums import DatasetName
from gpubench_workloads.training.errors import DataMissingError

FORMATS = {".json": "json", ".jsonl": "json", ".parquet": "parquet", ".csv": "csv", ".tsv": "csv"}
"""By a file's ending: the name under which Hugging Face's datasets reads it."""
COLUMNS = {
    DatasetName.ALPACA_CLEANED: ("instruction", "input", "output"),
    DatasetName.GRAMMAR: ("input", "output"),
    DatasetName.SAMSUM: ("dialogue", "summary"),
    DatasetName.SLIMORCA: ("conversations",),
    DatasetName.PREFERENCE: ("question", "response_j", "response_k"),
}
"""Of the published datasets, as torchtune's builders expect them."""
FIRST_BYTES = 1 << 20
"""Enough of a file of JSON to hold its first sample."""


@dataclass(frozen=True)
class TextFiles:
    """The files of a dataset, all of one format."""

    paths: tuple[Path, ...]
    kind: str
    """As `FORMATS` names it."""
    header: bool = True
    """Whether tables of text begin with the names of their columns."""

    def loading(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return what Hugging Face's `load_dataset` is to be called with."""
        arguments: dict[str, Any] = {
            "source": self.kind,
            "data_files": [str(path) for path in self.paths],
        }
        if _is_tabbed(self.paths[0]):
            arguments["sep"] = "\t"
        if not self.header:
            arguments["column_names"] = list(columns)
        return arguments


def find_text_files(folder: Path, name: DatasetName) -> TextFiles:
    """Return the files of a dataset's training part below a folder, their columns checked.

    Raises:
        DataMissingError: there are none, or a column is missing.
    """
    if not folder.is_dir():
        msg = f"dataset {name}: no folder {folder}; set dataset.path, or dataset.source: Synthetic"
        raise DataMissingError(msg)
    found = sorted(path for path in folder.rglob("*") if _format(path) and _is_data(path))
    training = [path for path in found if "train" in path.stem.lower()] or found
    if not training:
        msg = f"dataset {name}: {folder} holds no file that ends with {', '.join(FORMATS)}"
        raise DataMissingError(msg)
    kind = _format(training[0])
    assert kind is not None
    paths = tuple(path for path in training if _format(path) == kind)
    return _checked(paths, kind, name)


def _checked(paths: tuple[Path, ...], kind: str, name: DatasetName) -> TextFiles:
    wanted = COLUMNS[name]
    first = paths[0]
    try:
        columns = _columns(first, kind)
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        msg = f"dataset {name}: {first} cannot be read: {next(iter(str(error).splitlines()), '')}"
        raise DataMissingError(msg) from None
    # C4_200M is published as tables of two columns that have no names.
    if kind == "csv" and len(columns) == len(wanted) and not set(wanted) & set(columns):
        return TextFiles(paths, kind, header=False)
    missing = [column for column in wanted if column not in columns]
    if missing:
        msg = (
            f"dataset {name}: {first} lacks column {', '.join(missing)}; "
            f"it has {shorten(', '.join(columns), 120)}{_likeness(columns)}"
        )
        raise DataMissingError(msg)
    return TextFiles(paths, kind)


def _columns(path: Path, kind: str) -> list[str]:
    if kind == "parquet":
        return list(pl.read_parquet_schema(path))
    with path.open(encoding="utf-8", newline="") as file:
        if kind == "csv":
            delimiter = "\t" if _is_tabbed(path) else ","
            return next(csv.reader(file, delimiter=delimiter), [])
        start = file.read(FIRST_BYTES).lstrip().lstrip("[").lstrip()
    sample, _ = json.JSONDecoder().raw_decode(start)
    return list(sample) if isinstance(sample, dict) else []


def _likeness(columns: Iterable[str]) -> str:
    """Return which dataset the columns look like, as the end of a message."""
    for name, wanted in COLUMNS.items():
        if set(wanted) <= set(columns):
            return f", as {name} has"
    return ""


def _format(path: Path) -> str | None:
    return "csv" if _is_tabbed(path) else FORMATS.get(path.suffix)


def _is_tabbed(path: Path) -> bool:
    # C4_200M is published as C4_200M.tsv-00000-of-00010.
    return path.suffix == ".tsv" or ".tsv-" in path.name


def _is_data(path: Path) -> bool:
    return path.is_file() and path.name not in ("dataset_info.json", "dataset_infos.json")
