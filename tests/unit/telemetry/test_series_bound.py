"""How much a large sweep costs Prometheus, and the operator that is asked."""

from __future__ import annotations

import time
from collections import Counter

from gpubench.api.compact import CompactFamily
from gpubench.api.enums import Family, GateName
from gpubench.telemetry.run_metrics import run_metrics
from gpubench.telemetry.run_sample import RunSample
from tests.unit.telemetry.samples import FULL, PROFILE, exposition, sample

RUNS = 1000
MOST_SERIES_OF_A_RUN = 150
"""With every family of events, eight ranks and every gate failed; a usual run has half of them."""
MOST_SECONDS = 20.0
"""On a busy machine; one and a half on a free core."""


def largest_run(number: int) -> RunSample:
    """A run of a point of its own, with everything that a result can hold."""
    family = CompactFamily(calls=number, seconds=1.0)
    profile = PROFILE.model_copy(update={"families": dict.fromkeys(Family, family)})
    result = FULL.model_copy(update={"profile": profile, "peak_memory_bytes": [number] * 8})
    described = sample(result, run=f"demo-{number:010d}-1", image_size=str(number), gpus="8")
    gates = [str(gate) for gate in GateName]
    return RunSample(**(vars(described) | {"failed_gates": gates}))


def test_a_sweep_of_a_thousand_runs_is_bounded() -> None:
    runs = [largest_run(number) for number in range(RUNS)]
    started_at = time.monotonic()
    text = exposition(run_metrics(runs))
    seconds = time.monotonic() - started_at
    series = [line for line in text.splitlines() if not line.startswith("#")]
    print(f"{len(series)} series of {RUNS} runs, {len(text) / 1e6:.1f} MB in {seconds:.2f} s")
    assert len(series) <= RUNS * MOST_SERIES_OF_A_RUN
    assert seconds < MOST_SECONDS
    of_each = Counter(line.partition("{")[0] for line in series)
    assert max(of_each.values()) == RUNS * len(Family), "no label but family has more values"


def test_parameters_do_not_multiply_series() -> None:
    """Only one series of a run carries values that users choose."""
    texts = [exposition(run_metrics([sample(image_size=size)])) for size in ("28", "700")]
    differing = set(texts[0].splitlines()) ^ set(texts[1].splitlines())
    assert {line.partition("{")[0] for line in differing} == {"gpubench_run_info"}
