"""From the numbers that a trace uses to names and families."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from gpubench.api.enums import Family, ProfiledKind
from gpubench.profiles.events import EventKind
from gpubench.profiles.families import copy_family, copy_name, family_of, plain_name

COUNTS = {
    "kind": pl.String(),
    "family": pl.String(),
    "domain": pl.String(),
    "name": pl.String(),
    "memory": pl.Int64(),
    "duration": pl.Int64(),
    "calls": pl.Int64(),
    "bytes": pl.Int64(),
}
"""How often each duration occurred under each name."""

MEMSET = "[CUDA memset]"
NO_NAME = "(no name)"

# torch.autograd.profiler.emit_nvtx writes `aten::add, seq = 3, op_id = 17`: one name for each call.
_CALL_NUMBERS = r", (?:seq|op_id|sizes|input_op_ids) = .*$"


def labelled(
    found: Mapping[EventKind, pl.DataFrame | None], names: Mapping[int, str]
) -> pl.DataFrame:
    """Return counted events of all kinds in one frame, with what they are called."""
    labelling = {
        EventKind.API: (ProfiledKind.API, None),
        EventKind.KERNEL: (ProfiledKind.KERNEL, None),
        EventKind.OS_RUNTIME: (ProfiledKind.OS_RUNTIME, None),
        EventKind.CUDNN: (ProfiledKind.LIBRARY, Family.CUDNN),
        EventKind.CUBLAS: (ProfiledKind.LIBRARY, Family.CUBLAS),
    }
    frames = [pl.DataFrame(schema=COUNTS)]
    for kind, counts in found.items():
        if counts is None:
            continue
        if kind is EventKind.COPY:
            frames.append(_copies(counts))
        elif kind is EventKind.MEMSET:
            frames.append(_memsets(counts))
        elif kind is EventKind.RANGE:
            frames.append(_ranges(counts))
        elif kind in labelling:
            frames.append(_named(counts, names, *labelling[kind]))
    return pl.concat(frames)


def _named(
    counts: pl.DataFrame, names: Mapping[int, str], kind: ProfiledKind, family: Family | None
) -> pl.DataFrame:
    numbers = counts["name"].unique().to_list()
    texts = [_text(names, number, kind) for number in numbers]
    families = [(family or family_of(kind, text)).value for text in texts]
    table = pl.DataFrame(
        {"name": numbers, "label": texts, "family": families},
        schema={"name": pl.Int64, "label": pl.String, "family": pl.String},
    )
    joined = counts.join(table, on="name", how="left", nulls_equal=True)
    return _shaped(joined.with_columns(pl.col("label").alias("name")), kind)


def _text(names: Mapping[int, str], number: int | None, kind: ProfiledKind) -> str:
    if number is None:
        return NO_NAME
    text = names.get(number, f"{NO_NAME} {number}")
    return text if kind is ProfiledKind.KERNEL else plain_name(text)


def _copies(counts: pl.DataFrame) -> pl.DataFrame:
    kinds = [kind if kind is not None else 0 for kind in counts["copy_kind"].to_list()]
    joined = counts.with_columns(
        pl.Series("name", [copy_name(kind) for kind in kinds], pl.String),
        pl.Series("family", [copy_family(kind).value for kind in kinds], pl.String),
    )
    return _shaped(joined, ProfiledKind.COPY)


def _memsets(counts: pl.DataFrame) -> pl.DataFrame:
    named = counts.with_columns(
        pl.lit(MEMSET).alias("name"), pl.lit(Family.MEMSET.value).alias("family")
    )
    return _shaped(named, ProfiledKind.MEMSET)


def _ranges(counts: pl.DataFrame) -> pl.DataFrame:
    name = pl.col("text").fill_null(NO_NAME).alias("name")
    return _shaped(counts.with_columns(name), ProfiledKind.RANGE)


def _shaped(counts: pl.DataFrame, kind: ProfiledKind) -> pl.DataFrame:
    """Return the columns of `COUNTS`, null where there is nothing to tell."""
    lacking = [
        pl.lit(None, dtype).alias(column)
        for column, dtype in COUNTS.items()
        if column not in counts.columns
    ]
    whole = counts.with_columns(lacking).with_columns(pl.lit(kind.value).alias("kind"))
    return whole.select(pl.col(column).cast(dtype) for column, dtype in COUNTS.items())


def without_call_numbers(text: pl.Expr) -> pl.Expr:
    """Return NVTX texts without the numbers that torch gives each call of an operator."""
    return text.str.replace(_CALL_NUMBERS, "")
