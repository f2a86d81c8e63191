"""What is read from a result that holds the parts of several ranks and GPUs."""

from __future__ import annotations

import pytest

from gpubench.analysis.metrics import ENERGY_PER_SAMPLE
from tests.unit.analysis.result_builders import image_workload, make_result, with_everything


def test_energy_per_sample_is_that_of_all_gpus_over_what_they_trained_on() -> None:
    result = with_everything(make_result(image_workload(), 2))
    assert result.telemetry is not None
    assert result.work is not None
    energy = sum(device.energy_joules or 0.0 for device in result.telemetry.devices)
    trained = sum(result.work.samples_trained)
    assert ENERGY_PER_SAMPLE.read(result) == pytest.approx(energy / trained)


@pytest.mark.parametrize("missing", ["telemetry", "work"])
def test_energy_per_sample_is_not_guessed(missing: str) -> None:
    result = with_everything(make_result(image_workload(), 2)).model_copy(update={missing: None})
    assert ENERGY_PER_SAMPLE.read(result) is None
