"""What a pod's status says, most of them as a real cluster wrote them."""

from __future__ import annotations

from typing import Any

import pytest

from gpubench.api.enums import AttemptState, FailureClass
from gpubench.backends import PodState, read_pod
from gpubench.lifecycle.timestamps import from_timestamp
from tests.unit.backends.objects import REAL_PODS, RUNS_NOW, pod, pod_state, ran


def real_pod(name: str) -> PodState:
    state = read_pod(REAL_PODS[name])
    assert state is not None
    return state


@pytest.mark.parametrize(
    ("name", "state", "failure"),
    [
        ("container-creating", AttemptState.PENDING, None),
        ("err-image-pull", AttemptState.PENDING, None),
        ("err-image-never-pull", AttemptState.PENDING, None),
        ("invalid-image-name", AttemptState.PENDING, None),
        ("unschedulable", AttemptState.PENDING, None),
        ("missing-claim", AttemptState.PENDING, None),
        ("running", AttemptState.RUNNING, None),
        ("deleted", AttemptState.RUNNING, None),
        ("succeeded", AttemptState.SUCCEEDED, None),
        ("exit-1-with-message", AttemptState.FAILED, FailureClass.RESULT_MISSING),
        ("exit-3", AttemptState.FAILED, FailureClass.ENVIRONMENT),
        ("oom-killed", AttemptState.FAILED, FailureClass.OUT_OF_MEMORY),
        ("oom-killed-phase-running", AttemptState.FAILED, FailureClass.OUT_OF_MEMORY),
        ("no-such-command", AttemptState.FAILED, FailureClass.ENVIRONMENT),
        ("evicted", AttemptState.FAILED, FailureClass.PREEMPTED),
        ("evicted-trap", AttemptState.FAILED, FailureClass.PREEMPTED),
        ("disk-evicted", AttemptState.FAILED, FailureClass.ENVIRONMENT),
        ("preempted-deadline", AttemptState.FAILED, FailureClass.KILLED),
    ],
)
def test_real_pods(name: str, state: AttemptState, failure: FailureClass | None) -> None:
    found = real_pod(name)
    assert (found.state, found.failure) == (state, failure)
    assert (found.run, found.attempt) == ("demo-abcdefghij-1", 1)
    assert found.deleting is (name in ("deleted", "evicted", "evicted-trap"))
    assert found.ended_at is None or found.ended_at >= (found.started_at or 0.0)


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("container-creating", "ContainerCreating", ""),
        ("err-image-pull", "ImagePullBackOff", "localhost/no-such-image:1"),
        ("err-image-never-pull", "ErrImageNeverPull", "not present with pull policy of Never"),
        ("invalid-image-name", "InvalidImageName", "repository name (UPPER) must be lowercase"),
        ("unschedulable", "Unschedulable", "1 Insufficient nvidia.com/gpu"),
        ("missing-claim", "Unschedulable", 'persistentvolumeclaim "no-such-claim" not found'),
    ],
)
def test_why_real_pods_wait(name: str, reason: str, words: str) -> None:
    found = real_pod(name)
    assert found.reason == reason
    assert words in found.message


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("exit-1-with-message", "exit code 1"),
        ("exit-3", "could not be written to the results volume"),
        ("oom-killed", "execution.resources.memory"),
        ("no-such-command", "/no/such/command"),
        ("evicted", "EvictionByEvictionAPI"),
        ("disk-evicted", "ephemeral local storage usage exceeds"),
    ],
)
def test_why_real_pods_failed(name: str, words: str) -> None:
    assert words in real_pod(name).message


def test_what_real_pods_handed_over() -> None:
    assert real_pod("succeeded").termination_message == '{"a": 1}'
    assert real_pod("exit-1-with-message").termination_message == "it went wrong"
    assert real_pod("evicted-trap").termination_message == "stopped"
    assert real_pod("oom-killed").termination_message == ""


def disruption(reason: str) -> dict[str, str]:
    return {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "gone"}


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        ({"conditions": [disruption("DeletionByTaintManager")]}, FailureClass.NODE_LOST),
        ({"conditions": [disruption("DeletionByPodGC")]}, FailureClass.NODE_LOST),
        ({"conditions": [disruption("PreemptionByScheduler")]}, FailureClass.PREEMPTED),
        ({"conditions": [disruption("TerminationByKubelet")]}, FailureClass.PREEMPTED),
        ({"reason": "NodeLost"}, FailureClass.NODE_LOST),
        ({"reason": "NodeShutdown"}, FailureClass.PREEMPTED),
        (
            {"reason": "Evicted", "message": "The node had condition: [DiskPressure]. "},
            FailureClass.PREEMPTED,
        ),
        (
            {
                "reason": "Evicted",
                "message": 'Usage of EmptyDir volume "shared-memory" exceeds the limit "8Gi". ',
            },
            FailureClass.ENVIRONMENT,
        ),
        ({"reason": "UnexpectedAdmissionError", "message": "no GPUs"}, FailureClass.ENVIRONMENT),
        ({}, FailureClass.ENVIRONMENT),
    ],
)
def test_pods_that_failed_without_a_container(
    status: dict[str, Any], failure: FailureClass
) -> None:
    found = pod_state(phase="Failed", **status)
    assert (found.state, found.failure) == (AttemptState.FAILED, failure)
    assert found.message


@pytest.mark.parametrize(
    ("exit_code", "reason", "failure"),
    [
        (1, "Error", FailureClass.RESULT_MISSING),
        (3, "Error", FailureClass.ENVIRONMENT),
        (137, "Error", FailureClass.KILLED),
        (137, "OOMKilled", FailureClass.OUT_OF_MEMORY),
        (139, "Error", FailureClass.KILLED),
        (128, "StartError", FailureClass.ENVIRONMENT),
        (127, "ContainerCannotRun", FailureClass.ENVIRONMENT),
    ],
)
def test_containers_that_failed(exit_code: int, reason: str, failure: FailureClass) -> None:
    found = pod_state(ran(exit_code, reason=reason), phase="Failed")
    assert found.failure is failure
    assert found.message


def test_preemption_weighs_more_than_the_exit_code_that_it_led_to() -> None:
    found = pod_state(ran(137), phase="Failed", conditions=[disruption("PreemptionByScheduler")])
    assert found.failure is FailureClass.PREEMPTED


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_containers_that_others_put_beside_ours_do_not_count(order: slice) -> None:
    sidecar = {"name": "proxy", "state": RUNS_NOW}
    ours = {"name": "pytorch", "state": ran(0, "told")}
    found = pod_state(containerStatuses=[sidecar, ours][order])
    assert (found.state, found.termination_message) == (AttemptState.SUCCEEDED, "told")


def test_container_of_a_train_job_is_ours_too() -> None:
    node = {"name": "node", "state": ran(0, "told")}
    found = pod_state(containerStatuses=[{"name": "proxy", "state": RUNS_NOW}, node])
    assert found.termination_message == "told"


def test_times_and_owner() -> None:
    found = pod_state(ran(0))
    assert (found.started_at, found.ended_at) == (1_000_010.0, 1_000_070.0)
    assert (found.owner_uid, found.node) == ("uid-job", "node-1")
    assert real_pod("running").created_at == from_timestamp(
        REAL_PODS["running"]["metadata"]["creationTimestamp"]
    )


@pytest.mark.parametrize("labels", [{}, {"gpubench.io/run": "a"}, {"gpubench.io/attempt": "1"}])
def test_other_pods_are_not_ours(labels: dict[str, str]) -> None:
    other = pod()
    other["metadata"]["labels"] = labels
    assert read_pod(other) is None
    del other["metadata"]["labels"]
    assert read_pod(other) is None


@pytest.mark.parametrize("attempt", ["", "one", "-1", "1.0", "²"])
def test_pod_with_a_broken_label_is_not_ours(attempt: str) -> None:
    other = pod()
    other["metadata"]["labels"] = other["metadata"]["labels"] | {"gpubench.io/attempt": attempt}
    assert read_pod(other) is None


def test_pod_that_was_just_made_has_no_status() -> None:
    fresh = pod()
    del fresh["status"]
    found = read_pod(fresh)
    assert found is not None
    assert (found.state, found.reason) == (AttemptState.PENDING, "")
