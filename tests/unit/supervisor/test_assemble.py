"""Numbers of a result, from what its ranks reported."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from gpubench.api.result import Provenance, RunResult
from gpubench_workloads.reporting.rank_report import RankReport, rank_steps_path
from gpubench_workloads.supervisor.assemble import distribution, gather_steps, succeeded_result
from tests.unit.results import provenance, run_spec


def steps_of(rank: int, seconds: list[float], samples: int = 64, warmup: int = 1) -> pl.DataFrame:
    count = len(seconds)
    zeros = [0.0] * count
    regular = [step >= warmup for step in range(count)]
    return pl.DataFrame(
        {
            "rank": [rank] * count,
            "epoch": [1] * count,
            "step": list(range(1, count + 1)),
            "regular": regular,
            "profiled": [False] * count,
            "steady": regular,
            "iteration_seconds": seconds,
            "data_seconds": zeros,
            "host_to_device_seconds": zeros,
            "compute_seconds": zeros,
            "optimizer_seconds": zeros,
            "samples": [samples] * count,
        }
    )


def rank_report(rank: int, **fields: object) -> RankReport:
    values: dict[str, object] = {
        "rank": rank,
        "first_step_at": 1000.0 + rank,
        "training_seconds": 5.0 + rank,
        "epoch_seconds": [5.0 + rank],
        "steps": 4,
        "warmup_steps": 1,
        "samples_loaded": 256,
        "samples_trained": 256,
        "dataset_samples": 512,
        "epochs": 1,
    }
    return RankReport.model_validate(values | fields)


def assemble(reports: list[RankReport], steps: pl.DataFrame) -> RunResult:
    whole: Provenance = provenance()
    return succeeded_result(
        run_spec(),
        reports,
        steps,
        started_at=990.0,
        total_seconds=20.0,
        provenance=whole,
        telemetry=None,
    )


STEPS = pl.concat([steps_of(0, [9.0, 1.0, 2.0, 1.0]), steps_of(1, [9.0, 1.5, 1.0, 1.0])])


def test_iteration_time_is_that_of_the_slowest_rank_without_warm_up() -> None:
    result = assemble([rank_report(0), rank_report(1)], STEPS)
    assert result.timing is not None
    assert result.timing.iteration is not None
    assert result.timing.iteration.count == 3
    assert result.timing.iteration.mean == pytest.approx((1.5 + 2.0 + 1.0) / 3)
    assert result.timing.iteration.maximum == 2.0


def test_throughput_counts_the_samples_of_all_ranks() -> None:
    result = assemble([rank_report(0), rank_report(1)], STEPS)
    assert result.throughput is not None
    assert result.throughput.samples_per_second == pytest.approx(3 * 2 * 64 / 4.5)
    assert result.throughput.dataset_samples_per_second == pytest.approx(3 * 2 * 64 / 4.5)


def test_dataset_progress_counts_samples_of_several_ranks_once() -> None:
    reports = [rank_report(rank, samples_trained=512) for rank in range(2)]
    result = assemble(reports, STEPS)
    assert result.throughput is not None
    rate = result.throughput.samples_per_second
    assert result.throughput.dataset_samples_per_second == pytest.approx(rate / 2)


def test_times_are_those_of_the_last_rank() -> None:
    result = assemble([rank_report(0), rank_report(1)], STEPS)
    assert result.timing is not None
    assert result.timing.setup_seconds == pytest.approx(11.0)
    assert result.timing.training_seconds == 6.0
    assert result.timing.epoch_seconds == [6.0]


def test_no_steady_step_gives_no_rate() -> None:
    steps = pl.concat([steps_of(rank, [1.0, 1.0], warmup=9) for rank in range(2)])
    result = assemble([rank_report(0), rank_report(1)], steps)
    assert result.throughput is None
    assert result.timing is not None
    assert result.timing.iteration is None


@pytest.mark.parametrize(
    ("values", "mean", "std", "p50"),
    [([2.0], 2.0, 0.0, 2.0), ([1.0, 3.0], 2.0, 2**0.5, 2.0), ([1.0, 2.0, 6.0], 3.0, 7**0.5, 2.0)],
)
def test_distribution(values: list[float], mean: float, std: float, p50: float) -> None:
    found = distribution(pl.Series(values))
    assert found is not None
    assert found.minimum is not None
    assert found.maximum is not None
    assert (found.mean, found.p50) == (mean, p50)
    assert found.std == pytest.approx(std)
    assert found.minimum <= found.p50 <= found.p95 <= found.p99 <= found.maximum


def test_step_tables_of_all_ranks_become_one(tmp_path: Path) -> None:
    for rank in range(2):
        path = rank_steps_path(tmp_path, rank)
        path.parent.mkdir(exist_ok=True)
        steps_of(rank, [1.0, 2.0]).write_parquet(path)
    gathered = gather_steps(tmp_path, 2)
    assert gathered.height == 4
    assert pl.read_parquet(tmp_path / "steps.parquet").equals(gathered)
    assert not rank_steps_path(tmp_path, 0).exists()
