"""What keeps runs from starting, as jobs, pods and nodes show it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpubench.api.enums import AttemptState
from gpubench.backends import JobPhase, JobState, PodState
from gpubench.lifecycle import Obstacle
from gpubench.sweep.plan import Run

PULL_REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
    }
)
CONTAINER_REASONS = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError"}
)
QUEUED_TOO_LONG_SECONDS = 20
NO_POD_SECONDS = 10
SCHEDULING_SECONDS = 10
"""A pod may have to wait for the one before it to go, or for its volume to be bound."""


def too_large(runs: Sequence[Run], largest: int | None, resource: str) -> Obstacle | None:
    """Tell of runs that no node can hold."""
    if largest is None:
        return None
    sizes = sorted({run.point.gpus for run in runs if run.point.gpus > largest})
    if not sizes:
        return None
    wanted = ", ".join(str(size) for size in sizes)
    return Obstacle(
        "NotEnoughGPUs",
        f"runs with gpus {wanted} fit on no node: the largest that is ready, takes pods and "
        f"matches execution.placement offers {largest} {resource}; add a node, or lower gpus",
    )


def find_obstacles(
    waiting: Iterable[tuple[JobState, PodState | None]], told: Mapping[str, str], now: float
) -> list[Obstacle]:
    """Return what attempts wait for that a person should know of, each once.

    `told` has, by uid, what events say of jobs without a pod.
    """
    found: dict[str, Obstacle] = {}
    for job, pod in waiting:
        obstacle = (
            _of_pod(pod, now) if pod is not None else _of_job(job, told.get(job.uid, ""), now)
        )
        if obstacle is not None:
            found.setdefault(obstacle.reason, obstacle)
    return list(found.values())


def _of_pod(pod: PodState, now: float) -> Obstacle | None:
    if pod.state is not AttemptState.PENDING:
        return None
    where = f"pod {pod.name}"
    if pod.reason in PULL_REASONS:
        return Obstacle(
            "ImagePullFailed",
            f"{where}: {pod.reason}: {pod.message}; check execution.image, imagePullPolicy and "
            "imagePullSecrets",
        )
    if pod.reason in CONTAINER_REASONS:
        return Obstacle("ContainerCannotStart", f"{where}: {pod.reason}: {pod.message}")
    if pod.reason == "Unschedulable" and now - pod.created_at >= SCHEDULING_SECONDS:
        return _of_scheduler(where, pod.message)
    return None


def _of_scheduler(where: str, message: str) -> Obstacle:
    if "persistentvolumeclaim" in message:
        return Obstacle(
            "VolumeClaimMissing",
            f"{where}: {message}; create the claim that results.volumeClaim or "
            "execution.dataVolumeClaim names",
        )
    if "unbound immediate PersistentVolumeClaims" in message:
        return Obstacle("VolumeClaimUnbound", f"{where}: {message}")
    return Obstacle("Unschedulable", f"{where} waits for a node: {message}")


def is_overdue_without_pod(job: JobState, pod: PodState | None, now: float) -> bool:
    """Tell whether a job should have a pod by now and has none."""
    is_active = job.phase is JobPhase.ACTIVE
    return is_active and pod is None and now - job.active_since >= NO_POD_SECONDS


def _of_job(job: JobState, told: str, now: float) -> Obstacle | None:
    if job.phase is JobPhase.QUEUED:
        if now - job.created_at < QUEUED_TOO_LONG_SECONDS:
            return None
        return Obstacle("WaitingInQueue", f"job {job.name} {job.message or 'waits in its queue'}")
    if not is_overdue_without_pod(job, None, now):
        return None
    return Obstacle(
        refusal_reason(told) or "NoPod",
        f"{job.kind} {job.name} has no pod after {NO_POD_SECONDS} s: "
        f"{told or job.message or f'nothing is told of why; does what runs {job.kind}s run?'}"
        f"{advice(told)}",
    )


REFUSALS = {
    "exceeded quota": ("QuotaExceeded", "raise the quota, or free what it counts"),
    "status unknown for quota": ("QuotaUnknown", "Kubernetes has not counted what it limits yet"),
    " usage per ": ("LimitRangeViolated", "set execution.resources within the LimitRange"),
    "violates PodSecurity": ("PodSecurityViolated", "let the namespace admit restricted pods"),
}
"""What admission says -> the reason, and what to do."""


def refusal_reason(message: str) -> str | None:
    """Return the reason of an admission's refusal, None where it is none of those known."""
    return next((reason for text, (reason, _) in REFUSALS.items() if text in message), None)


def advice(message: str) -> str:
    """Return what to do about an admission's refusal, as the end of a sentence."""
    return next((f"; {do}" for text, (_, do) in REFUSALS.items() if text in message), "")
