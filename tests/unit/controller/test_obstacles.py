"""What keeps runs from starting, in words that say what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpubench.backends import JobState, PodState, read_pod
from gpubench.controller.obstacles import (
    NO_POD_SECONDS,
    QUEUED_TOO_LONG_SECONDS,
    SCHEDULING_SECONDS,
    find_obstacles,
    too_large,
)
from gpubench.sweep.expansion import expand
from tests.unit.backends.objects import CREATED, REAL_PODS, RUNS_NOW, job_state, pod_state
from tests.unit.backends.requests import benchmark

LATER = CREATED + 60


def real(name: str) -> PodState:
    state = read_pod(REAL_PODS[name])
    assert state is not None
    return replace(state, created_at=CREATED)


def reasons(job: JobState, pod: PodState | None, now: float = LATER, told: str = "") -> list[str]:
    return [o.reason for o in find_obstacles([(job, pod)], {job.uid: told}, now)]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("err-image-pull", ["ImagePullFailed"]),
        ("err-image-never-pull", ["ImagePullFailed"]),
        ("invalid-image-name", ["ImagePullFailed"]),
        ("unschedulable", ["Unschedulable"]),
        ("missing-claim", ["VolumeClaimMissing"]),
        ("container-creating", []),
        ("running", []),
        ("succeeded", []),
        ("oom-killed", []),
    ],
)
def test_real_pods(name: str, found: list[str]) -> None:
    assert reasons(job_state(), real(name)) == found


def test_messages_name_the_pod_and_what_to_look_at() -> None:
    (pull,) = find_obstacles([(job_state(), real("err-image-pull"))], {}, LATER)
    assert "pod err-image-pull" in pull.message
    assert "localhost/no-such-image:1" in pull.message
    assert "imagePullSecrets" in pull.message
    (claim,) = find_obstacles([(job_state(), real("missing-claim"))], {}, LATER)
    assert "no-such-claim" in claim.message
    assert "results.volumeClaim" in claim.message


def test_container_that_cannot_start() -> None:
    waiting = {"waiting": {"reason": "CreateContainerConfigError", "message": "no such secret"}}
    assert reasons(job_state(), pod_state(waiting, phase="Pending")) == ["ContainerCannotStart"]


@pytest.mark.parametrize(
    ("waited", "found"), [(NO_POD_SECONDS - 1, []), (NO_POD_SECONDS, ["NoPod"])]
)
def test_job_whose_pod_does_not_come(waited: float, found: list[str]) -> None:
    assert reasons(job_state(), None, CREATED + waited) == found


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ('pods "x" is forbidden: exceeded quota: gpus, requested: 4', "QuotaExceeded"),
        ('pytorchjobs "x" is forbidden: status unknown for quota: small', "QuotaUnknown"),
        ("maximum memory usage per Pod is 2Gi, but limit is 64Gi", "LimitRangeViolated"),
        ('pods "x" is forbidden: violates PodSecurity "restricted:latest"', "PodSecurityViolated"),
        ("something else", "NoPod"),
    ],
)
def test_job_whose_events_tell_why_it_has_no_pod(told: str, found: str) -> None:
    assert reasons(job_state(), None, told=told) == [found]


@pytest.mark.parametrize(
    ("waited", "found"),
    [(QUEUED_TOO_LONG_SECONDS - 1, []), (QUEUED_TOO_LONG_SECONDS, ["WaitingInQueue"])],
)
def test_job_in_its_queue(waited: float, found: list[str]) -> None:
    assert reasons(job_state(suspend=True), None, CREATED + waited) == found


def test_job_that_has_just_left_its_queue_has_time_for_its_pod() -> None:
    released = job_state({"Suspended": "False"})
    assert reasons(released, None, CREATED + 500 + NO_POD_SECONDS - 1) == []
    assert reasons(released, None, CREATED + 500 + NO_POD_SECONDS) == ["NoPod"]


def test_running_pod_is_no_obstacle() -> None:
    assert reasons(job_state(), pod_state(RUNS_NOW)) == []


def test_each_reason_is_told_once() -> None:
    pairs = [(job_state(), real("unschedulable"))] * 3 + [(job_state(), real("missing-claim"))]
    assert [o.reason for o in find_obstacles(pairs, {}, LATER)] == [
        "Unschedulable",
        "VolumeClaimMissing",
    ]


@pytest.mark.parametrize(("largest", "told"), [(None, False), (4, False), (3, True), (0, True)])
def test_runs_that_no_node_can_hold(largest: int | None, *, told: bool) -> None:
    plan = expand(benchmark(sweep={"matrix": {"gpus": [1, 2, 4]}}))
    found = too_large(plan.runs, largest, "nvidia.com/gpu")
    assert (found is not None) is told
    if found is not None:
        assert found.reason == "NotEnoughGPUs"
        assert f"offers {largest} nvidia.com/gpu" in found.message
        assert ("gpus 4 fit" if largest else "gpus 1, 2, 4 fit") in found.message


def test_a_pod_may_wait_a_moment_for_the_one_before_it() -> None:
    reason = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
    }
    waiting = [(job_state(), pod_state(phase="Pending", conditions=[reason]))]
    assert find_obstacles(waiting, {}, CREATED + SCHEDULING_SECONDS - 1) == []
    (obstacle,) = find_obstacles(waiting, {}, CREATED + SCHEDULING_SECONDS)
    assert obstacle.reason == "Unschedulable"
