"""A Prometheus that has recorded a whole sweep."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from scripts.panel_data import PrometheusApi, Window
from tests.integration.prometheus.backfill import prometheus_with_a_past
from tests.integration.prometheus.recorded_sweep import SECONDS, STEP_SECONDS, RecordedSweep


@dataclass(frozen=True)
class Recorded:
    """A Prometheus, and when what it has recorded was."""

    prometheus: PrometheusApi
    address: str
    window: Window


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    folder = tmp_path_factory.mktemp("prometheus")
    end = time.time() // STEP_SECONDS * STEP_SECONDS
    sweep = RecordedSweep(end - SECONDS, folder)
    count = int(SECONDS // STEP_SECONDS)
    ages = [(count - number) * STEP_SECONDS for number in range(count + 1)]
    moments = ((end - age, sweep.metrics(SECONDS - age)) for age in ages)
    with prometheus_with_a_past(folder, moments) as server:
        window = Window(end - SECONDS, end)
        yield Recorded(PrometheusApi(server.address), server.address, window)
