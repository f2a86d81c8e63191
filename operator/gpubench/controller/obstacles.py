"""What keeps runs from starting, as jobs, pods and nodes show it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
    waiting: Iterable[tuple[JobState, PodState | None]], now: float
) -> list[Obstacle]:
    """Return what attempts wait for that a person should know of, each once."""
    found: dict[str, Obstacle] = {}
    for job, pod in waiting:
        obstacle = _of_pod(pod) if pod is not None else _of_job(job, now)
        if obstacle is not None:
            found.setdefault(obstacle.reason, obstacle)
    return list(found.values())


def _of_pod(pod: PodState) -> Obstacle | None:
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
    if pod.reason == "Unschedulable":
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


def _of_job(job: JobState, now: float) -> Obstacle | None:
    waited = now - job.created_at
    if job.phase is JobPhase.QUEUED:
        if waited < QUEUED_TOO_LONG_SECONDS:
            return None
        return Obstacle("WaitingInQueue", f"job {job.name} {job.message or 'waits in its queue'}")
    if waited < NO_POD_SECONDS:
        return None
    return Obstacle(
        "NoPod",
        f"{job.kind} {job.name} has no pod after {NO_POD_SECONDS} s: "
        f"{job.message or 'see its events'}",
    )
