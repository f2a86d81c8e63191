"""A run's live numbers as Prometheus reads them at the pod's port."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gpubench.api.layout import PROGRESS_FILE
from gpubench.api.progress import AttemptProgress, Stage
from gpubench_workloads.live_metrics.collector import LiveRun
from gpubench_workloads.live_metrics.server import serving_live_metrics
from tests.e2e.prometheus import free_port

RUN = LiveRun(
    namespace="lab",
    benchmark="demo",
    run="demo-abcdefghij-1",
    attempt=2,
    no_progress_seconds=1800,
    gpu_uuids=["GPU-1", "GPU-2"],
)
IDENTITY = {"namespace": "lab", "benchmark": "demo", "run": "demo-abcdefghij-1"}
PROGRESS = AttemptProgress(
    stage=Stage.TRAINING,
    epoch=2,
    epochs=3,
    step=150,
    steps=300,
    samples_per_second=512.5,
    iteration_seconds=0.125,
    loss=0.5,
    time=1000.0,
)

Families = dict[str, list[tuple[dict[str, str], float]]]


def scrape(port: int, path: str = "/metrics") -> Families:
    with urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        text = answer.read().decode()
    return {
        family.name: [(found.labels, found.value) for found in family.samples]
        for family in text_string_to_metric_families(text)
    }


def write(folder: Path, progress: AttemptProgress) -> None:
    text = progress.model_dump_json(by_alias=True, exclude_none=True)
    (folder / PROGRESS_FILE).write_text(text, encoding="utf-8")


def served(folder: Path) -> Families:
    port = free_port()
    with serving_live_metrics(port, RUN, folder):
        return scrape(port)


def test_progress_is_told_as_numbers_of_the_run(tmp_path: Path) -> None:
    write(tmp_path, PROGRESS)
    found = served(tmp_path)
    for name, value in (
        ("step", 150),
        ("planned_steps", 300),
        ("epoch", 2),
        ("planned_epochs", 3),
        ("samples_per_second", 512.5),
        ("iteration_seconds", 0.125),
        ("loss", 0.5),
        ("progress_timestamp_seconds", 1000),
        ("attempt", 2),
        ("no_progress_limit_seconds", 1800),
    ):
        assert found[f"gpubench_live_{name}"] == [(IDENTITY, value)]
    assert found["gpubench_live_stage"] == [(IDENTITY | {"stage": "Training"}, 1)]
    gpus = [labels["UUID"] for labels, _ in found["gpubench_live_gpu_info"]]
    assert gpus == ["GPU-1", "GPU-2"]


def test_every_scrape_reads_anew(tmp_path: Path) -> None:
    port = free_port()
    with serving_live_metrics(port, RUN, tmp_path):
        steps = []
        for step in (1, 7):
            write(tmp_path, PROGRESS.model_copy(update={"step": step}))
            steps += [value for _, value in scrape(port)["gpubench_live_step"]]
    assert steps == [1, 7]


@pytest.mark.parametrize("text", [None, "", '{"stage": "Tra', "[]", '{"stage": "Sleeping"}'])
def test_without_progress_the_attempt_alone_is_told(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / PROGRESS_FILE).write_text(text, encoding="utf-8")
    found = served(tmp_path)
    assert found["gpubench_live_attempt"] == [(IDENTITY, 2)]
    assert "gpubench_live_step" not in found


def test_what_is_not_known_yet_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, AttemptProgress(stage=Stage.STARTING))
    found = served(tmp_path)
    assert "gpubench_live_loss" not in found
    assert [labels["stage"] for labels, _ in found["gpubench_live_stage"]] == ["Starting"]


def test_a_taken_port_costs_only_the_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with serving_live_metrics(port, RUN, tmp_path):
            pass
    assert f"no live metrics at port {port}" in capsys.readouterr().err


def test_the_port_is_free_again_afterwards(tmp_path: Path) -> None:
    port = free_port()
    for _ in range(2):
        with serving_live_metrics(port, RUN, tmp_path):
            assert scrape(port)


def test_a_client_that_says_nothing_keeps_nobody_waiting(tmp_path: Path) -> None:
    port = free_port()
    with (
        serving_live_metrics(port, RUN, tmp_path),
        socket.create_connection(("127.0.0.1", port)),
    ):
        assert scrape(port)


def test_the_exporter_is_not_loaded_where_nobody_asked() -> None:
    code = (
        "import sys, gpubench_workloads.supervisor.main;"
        "sys.exit('prometheus_client' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
