"""Energy and its bound, against a power curve whose energy is known."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpubench.api.enums import EnergySource
from gpubench.telemetry.dcgm import Field, Sample, Window, energy


def sample(time: float, age: float = 0.0, **values: float) -> Sample:
    named = {Field(name): value for name, value in values.items()}
    return Sample(time, age, named, frozenset(), {}, {})


def test_the_counters_difference_is_the_energy() -> None:
    samples = [sample(t, energy_joules=50.0 + 300.0 * t) for t in (0.0, 10.0, 20.0)]
    found = energy(samples, Window(0.0, 20.0))
    assert found is not None
    assert (found.joules, found.source) == (6000.0, EnergySource.COUNTER)
    assert found.error == 0.0


def test_only_the_part_in_the_window_counts() -> None:
    samples = [sample(t, energy_joules=300.0 * t) for t in (0.0, 10.0, 20.0, 30.0)]
    found = energy(samples, Window(5.0, 25.0))
    assert found is not None
    assert found.joules == pytest.approx(6000.0)


def test_a_counter_that_began_anew_is_bridged_by_the_mean() -> None:
    told = {0.0: 1000.0, 10.0: 4000.0, 20.0: 100.0, 30.0: 3100.0}
    samples = [sample(t, energy_joules=e, power_watts=300.0) for t, e in told.items()]
    found = energy(samples, Window(0.0, 30.0))
    assert found is not None
    assert found.joules == pytest.approx(9000.0)


def test_without_a_counter_power_is_integrated() -> None:
    samples = [sample(float(t), power_watts=100.0 + 10.0 * t) for t in range(11)]
    found = energy(samples, Window(0.0, 10.0))
    assert found is not None
    assert found.joules == pytest.approx(1500.0)
    assert found.source is EnergySource.POWER


def test_of_a_window_that_was_hardly_looked_at_nothing_is_told() -> None:
    samples = [sample(t, energy_joules=300.0 * t) for t in (0.0, 10.0)]
    assert energy(samples, Window(0.0, 30.0)) is None
    assert energy(samples[:1], Window(0.0, 10.0)) is None
    assert energy([], Window(0.0, 10.0)) is None


def test_what_was_not_looked_at_is_in_the_bound() -> None:
    samples = [
        sample(t, energy_joules=200.0 * t, power_watts=p)
        for t, p in ((0.0, 100.0), (10.0, 400.0), (20.0, 100.0))
    ]
    found = energy(samples, Window(0.0, 30.0))
    assert found is not None
    assert found.joules == pytest.approx(6000.0)
    assert found.error >= 10.0 * 200.0


def test_samples_that_may_be_old_widen_the_bound() -> None:
    samples = [sample(t, age=2.0, energy_joules=300.0 * t) for t in (0.0, 10.0, 20.0)]
    found = energy(samples, Window(0.0, 20.0))
    assert found is not None
    assert found.error == pytest.approx(600.0)


Powers = st.lists(st.floats(0.0, 700.0), min_size=12, max_size=60)


def integral(powers: list[float], start: float, end: float) -> float:
    """The energy of a power that is constant in each tenth of a second."""
    total = 0.0
    for index, power in enumerate(powers):
        low, high = max(index * 0.1, start), min((index + 1) * 0.1, end)
        total += power * max(high - low, 0.0)
    return total


def by_counter(powers: list[float], at: float) -> dict[str, float]:
    return {"energy_joules": integral(powers, 0.0, at)}


def by_power(powers: list[float], at: float) -> dict[str, float]:
    return {"power_watts": powers[min(int(at * 10 + 1e-6), len(powers) - 1)]}


@pytest.mark.parametrize("tell", [by_counter, by_power])
@given(
    powers=Powers,
    every=st.integers(1, 5),
    first=st.integers(0, 4),
    edge=st.floats(0.0, 0.4),
    missing=st.sets(st.integers(1, 10)),
)
def test_the_truth_is_within_the_bound(
    tell: Callable[[list[float], float], dict[str, float]],
    powers: list[float],
    every: int,
    first: int,
    edge: float,
    missing: set[int],
) -> None:
    # The assumption of the bound: nothing beyond what was seen.
    powers = [min(powers), max(powers), *powers]
    looks = [0, 1, *range(2 + first, len(powers), every)]
    times = [i * 0.1 for n, i in enumerate(looks) if n not in missing or n < 2]
    samples = [
        sample(t, power_watts=by_power(powers, t)["power_watts"], **tell_only(tell, powers, t))
        for t in sorted(set(times))
    ]
    assert all(b.time > a.time for a, b in pairwise(samples))
    window = Window(edge, len(powers) * 0.1 - edge)
    found = energy(samples, window)
    if found is not None:
        truth = integral(powers, window.start, window.end)
        assert abs(found.joules - truth) <= found.error + 1e-6


def tell_only(
    tell: Callable[[list[float], float], dict[str, float]], powers: list[float], at: float
) -> dict[str, float]:
    """What a sample says beside power."""
    return by_counter(powers, at) if tell is by_counter else {}
