"""Scraping real processes that behave as exporters do, and as they should not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gpubench.telemetry.dcgm import (
    Bounds,
    Collector,
    ExporterHistory,
    Field,
    GpuId,
    ScrapeError,
    Trouble,
    scrape,
)
from tests.integration.dcgm.exporters import ExporterProcess, running_exporter
from tests.integration.dcgm.gpus import gpu, uuid

GPU = GpuId(uuid(1))
PATIENCE_SECONDS = 30.0


@pytest.fixture
def exporters(tmp_path: Path) -> Iterator[list[ExporterProcess]]:
    with ExitStack() as stack:
        found = [
            stack.enter_context(running_exporter(tmp_path / name)) for name in ("one", "two", "x")
        ]
        for exporter in found:
            exporter.serve(gpus=[gpu(1)])
        yield found


async def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.02)


def collecting(
    test: Callable[[Collector], Awaitable[None]], seconds: float = 1.0, interval: float = 0.1
) -> None:
    async def run() -> None:
        async with Collector(interval, Bounds(seconds=seconds, bytes=2**23)) as collector:
            await test(collector)

    asyncio.run(run())


def energies(history: ExporterHistory) -> list[float]:
    found = history.gpus.get(GPU)
    return [sample.values[Field.ENERGY] for sample in found.samples] if found else []


def test_what_is_served_is_seen_once_however_often_it_is_asked_for(
    exporters: list[ExporterProcess],
) -> None:
    exporter = exporters[0]

    async def test(collector: Collector) -> None:
        collector.follow({"a": exporter.url})
        await until(lambda: "a" in collector.histories)
        history = collector.histories["a"]
        for step in range(1, 5):
            exporter.serve(gpus=[gpu(1, TOTAL_ENERGY_CONSUMPTION=step * 1000)])
            await until(lambda wanted=float(step): energies(history)[-1:] == [wanted])  # type: ignore[misc]
            await asyncio.sleep(0.5)
        assert energies(history)[-4:] == [1.0, 2.0, 3.0, 4.0]
        assert history.refresh_seconds == pytest.approx(0.5, abs=0.3)

    collecting(test)


@pytest.mark.parametrize(
    ("fault", "trouble"),
    [
        ("slow", Trouble.TIMEOUT),
        ("dead", Trouble.UNREACHABLE),
        ("half", Trouble.INCOMPLETE),
        ("error", Trouble.REFUSED),
        ("huge", Trouble.TOO_LARGE),
        ("garbage", Trouble.UNREADABLE),
    ],
)
def test_a_broken_exporter_is_a_gap_and_no_hindrance_to_others(
    exporters: list[ExporterProcess], fault: str, trouble: Trouble
) -> None:
    broken, well, _ = exporters

    async def test(collector: Collector) -> None:
        collector.follow({"broken": broken.url, "well": well.url})
        await until(lambda: len(collector.histories) == 2)
        sick, fine = collector.histories["broken"], collector.histories["well"]
        await until(lambda: bool(energies(sick) and energies(fine)))
        before = energies(sick)
        broken.serve(fault=fault, gpus=[gpu(1, TOTAL_ENERGY_CONSUMPTION=7_000)])
        began_at = time.monotonic()
        for step in range(1, 6):
            well.serve(gpus=[gpu(1, TOTAL_ENERGY_CONSUMPTION=step)])
            await until(lambda wanted=step / 1000: energies(fine)[-1] == wanted)  # type: ignore[misc]
        assert time.monotonic() - began_at < 10.0
        await until(lambda: bool(sick.gaps))
        assert sick.gaps[0].reason.startswith(trouble)
        assert energies(sick) == before
        assert not fine.gaps
        broken.serve(fault="")
        await until(lambda: energies(sick) == [*before, 7.0])

    collecting(test)


def test_an_exporter_that_restarts_goes_on_where_it_was(exporters: list[ExporterProcess]) -> None:
    exporter = exporters[0]

    async def test(collector: Collector) -> None:
        collector.follow({"a": exporter.url})
        await until(lambda: "a" in collector.histories)
        history = collector.histories["a"]
        await until(lambda: energies(history) == [1000.0])
        exporter.kill()
        await until(lambda: bool(history.gaps))
        assert history.gaps[0].reason.startswith(Trouble.UNREACHABLE)
        # The driver was loaded anew meanwhile: counters begin again.
        exporter.serve(gpus=[gpu(1, TOTAL_ENERGY_CONSUMPTION=500)])
        await asyncio.to_thread(exporter.start)
        await until(lambda: energies(history) == [1000.0, 0.5])

    collecting(test)


def test_an_exporter_at_another_address_goes_on_under_its_name(
    exporters: list[ExporterProcess],
) -> None:
    old, new, _ = exporters
    new.serve(gpus=[gpu(1, TOTAL_ENERGY_CONSUMPTION=2_000_000)])

    async def test(collector: Collector) -> None:
        collector.follow({"node": old.url})
        await until(lambda: "node" in collector.histories)
        await until(lambda: energies(collector.histories["node"]) == [1000.0])
        collector.follow({"node": new.url})
        await until(lambda: energies(collector.histories["node"]) == [1000.0, 2000.0])
        collector.follow({})
        collector.forget(["node"])
        assert not collector.histories

    collecting(test)


def test_ten_thousand_series_come_within_a_second(exporters: list[ExporterProcess]) -> None:
    exporter = exporters[0]
    exporter.serve(gpus=[gpu(number) for number in range(1, 530)])

    async def test(collector: Collector) -> None:
        collector.follow({"a": exporter.url})
        await until(lambda: "a" in collector.histories)
        history = collector.histories["a"]
        await until(lambda: len(history.gpus) == 529 or bool(history.gaps))
        assert not history.gaps
        assert not history.problems

    collecting(test, seconds=5.0)


def test_a_clock_that_is_off_is_noticed(exporters: list[ExporterProcess]) -> None:
    exporter = exporters[0]
    exporter.serve(date=-3600)

    async def test(collector: Collector) -> None:
        collector.follow({"a": exporter.url})
        await until(lambda: "a" in collector.histories and bool(collector.histories["a"].gpus))
        history = collector.histories["a"]
        assert history.clock_offset == pytest.approx(-3600.0, abs=2.0)
        assert history.gpus[GPU].samples[0].time == pytest.approx(time.time(), abs=10.0)

    collecting(test)


def test_a_redirect_is_not_followed(exporters: list[ExporterProcess]) -> None:
    async def ask() -> None:
        async with Collector() as collector:
            assert collector._session is not None
            await scrape(collector._session, exporters[0].url + "-elsewhere", Bounds())

    exporters[0].serve(fault="redirect")
    with pytest.raises(ScrapeError) as error:
        asyncio.run(ask())
    assert error.value.trouble is Trouble.REFUSED
