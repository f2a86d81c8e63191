"""A profile as a JSON document and as a flat table."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from gpubench.api.profile import EventStatistics, Profile

COLUMNS = {
    "kind": pl.String(),
    "name": pl.String(),
    "family": pl.String(),
    "calls": pl.Int64(),
    "total_seconds": pl.Float64(),
    "share": pl.Float64(),
    "mean_seconds": pl.Float64(),
    "min_seconds": pl.Float64(),
    "p50_seconds": pl.Float64(),
    "p99_seconds": pl.Float64(),
    "max_seconds": pl.Float64(),
    "bytes": pl.Int64(),
    "bytes_per_second": pl.Float64(),
    "pageable_bytes": pl.Int64(),
    "pinned_bytes": pl.Int64(),
    "rank_total_seconds": pl.List(pl.Float64()),
}


def profile_document(profile: Profile) -> dict[str, Any]:
    """Return the profile as JSON values; families are a list, longest total first."""
    document = profile.model_dump(mode="json", by_alias=False, exclude_none=True)
    families = [{"name": name, **numbers} for name, numbers in document["families"].items()]
    families.sort(key=lambda family: -family["total_seconds"])
    return {**document, "families": families}


def profile_frame(profile: Profile) -> pl.DataFrame:
    """Return one row for each family, kernel, phase, range and unmapped name."""
    return pl.DataFrame(list(_rows(profile)), schema=COLUMNS)


def profile_csv(profile: Profile) -> str:
    """Return the table as CSV; totals of ranks stand in one field, apart by semicolons."""
    ranks = pl.col("rank_total_seconds").list.eval(pl.element().cast(pl.String)).list.join(";")
    return profile_frame(profile).with_columns(ranks).write_csv()


def profile_json(profile: Profile) -> str:
    """Return the document as text."""
    return json.dumps(profile_document(profile), indent=2, ensure_ascii=False) + "\n"


def profile_parquet(profile: Profile) -> bytes:
    """Return the table as a parquet file."""
    buffer = io.BytesIO()
    profile_frame(profile).write_parquet(buffer)
    return buffer.getvalue()


def _rows(profile: Profile) -> Iterator[dict[str, Any]]:
    families = sorted(profile.families.items(), key=lambda item: -item[1].total_seconds)
    for family, numbers in families:
        row = {
            **_durations(numbers),
            "kind": "Family",
            "name": family.value,
            "share": numbers.share,
        }
        row["rank_total_seconds"] = numbers.rank_total_seconds
        if numbers.copies:
            row["bytes"] = numbers.copies.total_bytes
            row["bytes_per_second"] = numbers.copies.bytes_per_second
        if numbers.pageable:
            row["pageable_bytes"] = numbers.pageable.total_bytes
        if numbers.pinned:
            row["pinned_bytes"] = numbers.pinned.total_bytes
        yield row
    for phase in profile.phases:
        yield {**_durations(phase), "kind": "Phase", "name": phase.name, "share": phase.share}
    for named in (*profile.kernels, *profile.ranges, *profile.unmapped):
        family_name = named.family.value if named.family else None
        yield {
            **_durations(named),
            "kind": named.kind.value,
            "name": named.name,
            "family": family_name,
        }


def _durations(numbers: EventStatistics) -> dict[str, Any]:
    return {field: getattr(numbers, field) for field in EventStatistics.model_fields}
