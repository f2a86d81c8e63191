"""An Nsight Systems export as a trace: its tables in the form that all readers share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal

import polars as pl

from gpubench.profiles.events import (
    COLUMNS,
    EventKind,
    Findings,
    UnreadableTableError,
)
from gpubench.profiles.nsys.source import TableSource
from gpubench.profiles.nsys.tables import (
    DOMAIN_EVENT,
    META_TABLES,
    PROCESS_BITS,
    RANGE_EVENTS,
    STRINGS,
    TABLES,
    VERSION_KEYS,
    EventTable,
)
from gpubench.profiles.validity import check_gpus, sized, texts, valid_times, whole_numbers


class NsysTrace:
    """The events of one report of Nsight Systems."""

    source: Literal["Nsys"] = "Nsys"

    def __init__(self, tables: TableSource) -> None:
        self._tables = tables
        self.findings = Findings()

    @property
    def version(self) -> str | None:
        """Version of the Nsight Systems that exported the report."""
        return self._meta.get(VERSION_KEYS[0])

    @property
    def schema_version(self) -> str | None:
        """Version of the export's tables."""
        return self._meta.get(VERSION_KEYS[1])

    @cached_property
    def _meta(self) -> dict[str, str]:
        for table in META_TABLES:
            if {"name", "value"} <= self._tables.columns.get(table, frozenset()):
                try:
                    rows = pl.concat(self._tables.batches(table, ["name", "value"]))
                    return dict(rows.select(texts("name"), texts("value")).drop_nulls().rows())
                except (UnreadableTableError, pl.exceptions.PolarsError, ValueError):
                    self.findings.note(f"Table {table} is damaged: no versions are known.")
        return {}

    def names(self) -> Mapping[int, str]:
        """Return the report's strings by their number."""
        return self._names

    @cached_property
    def _names(self) -> dict[int, str]:
        if not {"id", "value"} <= self._tables.columns.get(STRINGS, frozenset()):
            self.findings.note(f"Without the table {STRINGS} no name is known.")
            return {}
        names: dict[int, str] = {}
        try:
            for batch in self._tables.batches(STRINGS, ["id", "value"]):
                found = batch.select(whole_numbers(batch, "id", STRINGS), texts("value"))
                readable = found.drop_nulls()
                names.update(readable.rows())
                if readable.height < batch.height:
                    self.findings.note(f"Some texts of {STRINGS} are damaged: names are missing.")
        except (UnreadableTableError, pl.exceptions.PolarsError) as error:
            self.findings.note(f"Table {STRINGS} is damaged, names are missing: {error}")
        return names

    def batches(self, kind: EventKind) -> Iterator[pl.DataFrame]:
        """Yield the events of a kind."""
        table = TABLES[kind]
        if table.name in self._tables.damaged:
            raise UnreadableTableError(self._tables.damaged[table.name])
        present = self._tables.columns.get(table.name)
        if present is None:
            self.findings.missing.append(table.name)
            return
        lacking = [column for column in table.needed.values() if column not in present]
        if lacking:
            msg = f"it has no column {' and no '.join(lacking)}"
            raise UnreadableTableError(msg)
        found = self._raw_batches(table, present)
        yield from self._ranges(found) if kind is EventKind.RANGE else self._events(kind, found)

    def _raw_batches(self, table: EventTable, present: frozenset[str]) -> Iterator[pl.DataFrame]:
        """Yield the rows that count, with our names for columns and whole numbers in them."""
        wanted = {**table.needed, **table.wanted}
        read = list(dict.fromkeys(column for column in wanted.values() if column in present))
        for batch in self._tables.batches(table.name, read):
            named = batch.select(
                _column(batch, ours, theirs, table.name) for ours, theirs in wanted.items()
            )
            if table.event_class is not None:
                named = named.filter(pl.col("event_class") == table.event_class)
            if "process" in named.columns:
                named = named.with_columns(pl.col("process") // 2**PROCESS_BITS)
            yield named

    def _events(self, kind: EventKind, found: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        for batch in found:
            events = sized(batch.select(*COLUMNS[kind]), TABLES[kind].name, self.findings)
            check_gpus(events, TABLES[kind].name, self.findings)
            yield valid_times(events, TABLES[kind].name, self.findings)

    def _ranges(self, found: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield ranges with their texts and domains; one that never ended ends with the last event.

        So does `nsys stats`.
        """
        batches = list(found)
        if not batches:
            return
        rows = pl.concat(batches)
        names = _name_frame(self.names())
        last = rows.select(pl.max_horizontal(pl.col("start").max(), pl.col("end").max())).item()
        texts = (
            rows.lazy()
            .join(
                names.lazy(), left_on="text_id", right_on="name", how="left", maintain_order="left"
            )
            .with_columns(pl.coalesce("text", "name_text").alias("text"))
            .select("start", "end", "event_type", "text", "domain_id", "process")
            .collect()
        )
        domains = (
            texts.filter(pl.col("event_type") == DOMAIN_EVENT)
            .sort("start")
            .select("domain_id", "process", pl.col("text").alias("domain"))
            .unique(["domain_id", "process"], keep="first", maintain_order=True)
        )
        ranges = texts.filter(pl.col("event_type").is_in(RANGE_EVENTS))
        unended = ranges["end"].null_count()
        if unended:
            self.findings.note(
                f"{unended} NVTX ranges never ended; they are counted up to the last one's end."
            )
        joined = ranges.join(
            domains, on=["domain_id", "process"], how="left", nulls_equal=True
        ).with_columns(pl.col("end").fill_null(last))
        columns = COLUMNS[EventKind.RANGE]
        yield valid_times(joined.select(*columns), TABLES[EventKind.RANGE].name, self.findings)


def _column(batch: pl.DataFrame, ours: str, theirs: str, table: str) -> pl.Expr:
    if ours == "text":
        if theirs not in batch.columns:
            return pl.lit(None, pl.String).alias(ours)
        return texts(theirs).alias(ours)
    if theirs not in batch.columns:
        return pl.lit(None, pl.Int64).alias(ours)
    return whole_numbers(batch, theirs, table).alias(ours)


def _name_frame(names: Mapping[int, str]) -> pl.DataFrame:
    return pl.DataFrame(
        {"name": list(names), "name_text": list(names.values())},
        schema={"name": pl.Int64, "name_text": pl.String},
    )
