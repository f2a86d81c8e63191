"""Which attempts are looked at, when they trained, and what their telemetry makes of a run."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.api.enums import GateName, RunPhase, ValidityStatus
from gpubench.api.run_telemetry import RunTelemetry
from gpubench.controller.cache import BenchmarkCache
from gpubench.controller.exporters import addresses
from gpubench.controller.observer import RunView, view_run, with_telemetry
from gpubench.controller.watched_attempts import (
    EndedAttempt,
    attempt_of,
    ended_attempt,
    forgotten_attempts,
    running_attempts,
    told_attempt,
    window_of,
)
from gpubench.lifecycle import make_run_status
from gpubench.telemetry.dcgm import PodId
from tests.unit.backends.objects import CREATED, RUNS_NOW, ran
from tests.unit.controller.objects import RUN, body, cache_of, own_job, own_pod, run
from tests.unit.lifecycle.observations import policy
from tests.unit.lifecycle.results import good_result

NOW = CREATED + 100
RESULT = good_result().model_copy(
    update={"run": RUN.name, "point_hash": RUN.point.point_hash, "attempt": 1}
)
SUCCESS = ran(0, RESULT.to_message())
KEY = ("uid-run", 1)
CLEAN = RunTelemetry(attempt=1, samples=10, final=True)
DIRTY = CLEAN.model_copy(update={"xid_errors": [79]})


def seen(cache: BenchmarkCache, telemetry: dict[tuple[str, int], RunTelemetry]) -> RunView:
    record = cache.runs[RUN.name]
    view = view_run(RUN, record, cache, [], NOW)
    return with_telemetry(view, record, telemetry, [])


def ended_cache() -> BenchmarkCache:
    """A run whose pod has succeeded and is not recorded yet."""
    return cache_of(run(), own_job(), own_pod(SUCCESS, phase="Succeeded"))


def status_of(view: RunView) -> dict[str, Any]:
    status = make_run_status(view.run, policy(), view.result, [], [], NOW, view.telemetry)
    return status.to_json_dict()


def recorded_cache(telemetry: RunTelemetry | None = None) -> BenchmarkCache:
    """A run that is recorded as over; its job and pod are gone."""
    found = seen(ended_cache(), {KEY: telemetry} if telemetry else {})
    return cache_of(run(status_of(found)))


def test_a_pod_that_runs_is_looked_at() -> None:
    (watched,) = running_attempts(cache_of(run(), own_job(), own_pod(RUNS_NOW)))
    assert watched.key == KEY
    assert watched.pod == PodId("lab", f"{RUN.name}-1-master-0") or watched.pod.namespace == "lab"
    assert (watched.node, watched.gpus) == ("node-1", 2)


def test_a_pod_that_waits_or_has_ended_is_not() -> None:
    assert not list(running_attempts(cache_of(run(), own_job(), own_pod())))
    assert not list(running_attempts(ended_cache()))


def test_a_benchmark_on_processors_is_not() -> None:
    on_cpu = body()
    on_cpu["spec"]["execution"]["device"] = "CPU"
    cache = cache_of(run(), own_job(), own_pod(RUNS_NOW), own=on_cpu)
    assert not list(running_attempts(cache))


def test_an_end_is_read_from_its_record() -> None:
    assert ended_attempt(ended_cache().runs[RUN.name], 1) is None
    record = recorded_cache().runs[RUN.name]
    assert told_attempt(record) == 1
    ended = ended_attempt(record, 1)
    assert ended == EndedAttempt(CREATED + 10, CREATED + 70, RESULT)


def test_an_end_that_nobody_told_of_is_found_after_a_restart() -> None:
    (forgotten,) = forgotten_attempts(recorded_cache(), CREATED)
    assert forgotten.key == KEY
    assert not list(forgotten_attempts(recorded_cache(), CREATED + 1000))
    assert not list(forgotten_attempts(recorded_cache(CLEAN), CREATED))
    unsure = CLEAN.model_copy(update={"final": False})
    assert list(forgotten_attempts(recorded_cache(unsure), CREATED))


def test_the_window_lies_between_what_the_pods_times_allow() -> None:
    result = RESULT.model_copy(
        update={
            "setup_seconds": 5.0,
            "training_seconds": 40.0,
            "evaluation_seconds": 2.0,
            "total_seconds": 50.0,
        }
    )
    # In truth: from 100.8 to 152.3, so training began between 105.8 and 107.3.
    window = window_of(EndedAttempt(100.0, 152.0, result))
    assert window.seconds == pytest.approx(42.0)
    assert window.start - window.uncertainty == 105.0
    assert window.start + window.uncertainty == 108.0
    put_right = window_of(EndedAttempt(100.0, 152.0, result), clock_offset=30.0)
    assert put_right.start == window.start - 30.0


def test_of_an_attempt_without_numbers_the_window_is_all_of_it() -> None:
    window = window_of(EndedAttempt(100.0, 152.0, None))
    assert (window.start, window.end) == (100.0, 153.0)


def test_an_attempt_is_known_by_the_uuids_of_its_result() -> None:
    assert RESULT.device is not None
    device = RESULT.device.model_copy(update={"uuids": "01234567 89abcdef"})
    result = RESULT.model_copy(update={"device": device})
    (watched,) = running_attempts(cache_of(run(), own_job(), own_pod(RUNS_NOW)))
    attempt = attempt_of(watched, EndedAttempt(100.0, 152.0, result))
    assert attempt.uuids == ("GPU-01234567", "GPU-89abcdef")


def test_telemetry_comes_into_the_status_and_stays() -> None:
    view = seen(ended_cache(), {KEY: CLEAN})
    assert status_of(view)["telemetry"]["samples"] == 10
    again = seen(recorded_cache(CLEAN), {})
    assert status_of(again) == status_of(view)


def test_an_xid_error_makes_the_run_invalid_by_a_gate() -> None:
    assert status_of(seen(ended_cache(), {}))["phase"] == RunPhase.SUCCEEDED
    status = status_of(seen(ended_cache(), {KEY: DIRTY}))
    assert status["phase"] == RunPhase.INVALID
    assert status["validity"] == {
        "status": ValidityStatus.INVALID,
        "failedGates": [{"name": GateName.XID, "message": "XID errors during the attempt: 79"}],
    }


def test_an_xid_error_that_is_told_later_counts_and_is_not_forgotten() -> None:
    late = status_of(seen(recorded_cache(CLEAN), {KEY: DIRTY}))
    assert late["phase"] == RunPhase.INVALID
    after_a_restart = status_of(seen(cache_of(run(late)), {}))
    assert after_a_restart == late


def test_what_is_recorded_stays_where_a_new_operator_knows_less() -> None:
    less = CLEAN.model_copy(update={"samples": 2})
    view = seen(recorded_cache(CLEAN), {KEY: less})
    assert view.telemetry == CLEAN


def test_telemetry_of_another_attempt_or_run_is_not_taken() -> None:
    view = seen(ended_cache(), {("uid-run", 2): DIRTY, ("uid-another", 1): DIRTY})
    assert view.telemetry is None


def exporter_pod(name: str, node: str, address: str, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": f"2026-11-21T10:00:0{name[-1]}Z"},
        "spec": {"nodeName": node},
        "status": {"phase": "Running", "podIP": address, **status},
    }


def test_the_newest_pod_of_each_node_is_its_exporter() -> None:
    pods = [
        exporter_pod("e-2", "a", "10.0.0.2"),
        exporter_pod("e-1", "a", "10.0.0.1"),
        exporter_pod("e-3", "b", "fd00::3"),
        exporter_pod("e-4", "b", "10.0.0.4", phase="Pending"),
        {**exporter_pod("e-5", "c", ""), "status": {"phase": "Running"}},
    ]
    assert addresses(pods, 9400) == {
        "a": "http://10.0.0.2:9400/metrics",
        "b": "http://[fd00::3]:9400/metrics",
    }
