"""A real run under its supervisor, its port scraped by a real Prometheus."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpubench.api.layout import RUN_SPEC_FILE
from tests.e2e.cluster.commands import wait_until
from tests.e2e.prometheus import free_port, running_prometheus
from tests.unit.image_recognition.specs import image_spec

EPOCHS = 3
BATCH = 16
DATASET = {"name": "digits", "trainImages": 40 * BATCH, "testImages": 60}


@pytest.mark.slow
def test_prometheus_follows_a_run_to_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    folder.mkdir()
    spec = image_spec(dataset=DATASET, epochs=EPOCHS, batchSize=BATCH, evaluation="Disabled")
    path = folder / RUN_SPEC_FILE
    path.write_text(spec.model_dump_json(by_alias=True), encoding="utf-8")
    port = free_port()
    command = [sys.executable, "-m", "gpubench_workloads.supervisor", f"--metrics-port={port}"]
    environment = os.environ | {"GPUBENCH_NAMESPACE": "lab"}
    steps: list[float] = []
    with running_prometheus(tmp_path, port) as prometheus:
        run = subprocess.Popen(
            [*command, f"--spec={path}", f"--output={folder}"],
            stdout=subprocess.DEVNULL,
            env=environment,
        )

        def is_over() -> bool:
            steps.extend(value for _, value in prometheus.query("gpubench_live_step"))
            return run.poll() is not None

        wait_until("the run's end", is_over, timeout=300, interval=0.3)
        assert run.returncode == 0
        assert steps == sorted(steps)
        assert len(set(steps)) > 2, "the step was seen to rise"
        identity = {"namespace": "lab", "benchmark": spec.identity.benchmark}
        identity |= {"run": spec.identity.run}
        for name in ("loss", "samples_per_second", "iteration_seconds", "planned_steps"):
            found = prometheus.query(f"max_over_time(gpubench_live_{name}[5m])")
            ((labels, value),) = found
            assert value > 0
            assert {label: labels[label] for label in identity} == identity
        samples = "gpubench_live_samples_per_second * gpubench_live_iteration_seconds"
        ((_, of_a_step),) = prometheus.query(f"quantile_over_time(0.5, ({samples})[5m:1s])")
        assert of_a_step == pytest.approx(BATCH)
        stages = prometheus.query("count_over_time(gpubench_live_stage[5m])")
        assert "Training" in {labels["stage"] for labels, _ in stages}
