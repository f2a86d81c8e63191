"""Attempts whose GPUs are looked at: from pods that run to records that they are over. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpubench.api.compact import CompactResult
from gpubench.api.enums import AttemptState, DeviceKind
from gpubench.controller.cache import BenchmarkCache, RunRecord
from gpubench.controller.observer import jobs_of
from gpubench.lifecycle.observed import LIVE_STATES
from gpubench.lifecycle.timestamps import from_timestamp
from gpubench.telemetry.dcgm import Attempt, PodId, Window

WHOLE_SECOND = 1.0
"""Pods tell their times in whole seconds, rounded down."""

AttemptKey = tuple[str, int]
"""Uid of the run, and which attempt."""


@dataclass(frozen=True)
class WatchedAttempt:
    """An attempt that was seen to run, or whose end was recorded a moment ago."""

    key: AttemptKey
    run: str
    benchmark_uid: str
    pod: PodId
    node: str | None
    gpus: int | None


@dataclass(frozen=True)
class EndedAttempt:
    """What its record tells of an attempt that is over."""

    began_at: float
    ended_at: float
    result: CompactResult | None


def running_attempts(cache: BenchmarkCache) -> Iterator[WatchedAttempt]:
    """Yield the attempts of a benchmark that use GPUs now."""
    if not uses_gpus(cache):
        return
    for name, jobs in cache.jobs.items():
        record = cache.runs.get(name)
        if not jobs or record is None:
            continue
        for job in jobs_of(cache, record):
            pod = cache.pod_of(job)
            if pod is not None and pod.state is AttemptState.RUNNING and pod.node:
                yield WatchedAttempt(
                    key=(record.uid, job.attempt),
                    run=name,
                    benchmark_uid=pod.benchmark_uid,
                    pod=PodId(pod.namespace, pod.name),
                    node=pod.node,
                    gpus=_gpus(record),
                )


def forgotten_attempts(cache: BenchmarkCache, since: float) -> Iterator[WatchedAttempt]:
    """Yield attempts that ended since a moment without a last word about their GPUs.

    As after the operator was started again in between: what it knew is lost.
    """
    if not uses_gpus(cache) or cache.body is None:
        return
    metadata = cache.body["metadata"]
    for name, record in cache.runs.items():
        number = told_attempt(record)
        ended = ended_attempt(record, number) if number is not None else None
        told = record.status.telemetry
        is_told = told is not None and told.attempt == number and told.final
        if number is not None and ended and ended.ended_at >= since and not is_told:
            yield WatchedAttempt(
                key=(record.uid, number),
                run=name,
                benchmark_uid=metadata["uid"],
                pod=PodId(metadata["namespace"], ""),
                node=None,
                gpus=_gpus(record),
            )


def uses_gpus(cache: BenchmarkCache) -> bool:
    """Tell whether a benchmark's pods ask for GPUs."""
    execution = (cache.body or {}).get("spec", {}).get("execution") or {}
    return cache.body is not None and execution.get("device") != DeviceKind.CPU


def _gpus(record: RunRecord) -> int | None:
    gpus = record.parameters.get("gpus", "")
    return int(gpus) if gpus.isdecimal() else None


def told_attempt(record: RunRecord) -> int | None:
    """Return the attempt that a run's status tells of: the one that succeeded, else the last."""
    attempts = record.status.attempts
    succeeded = [a.number for a in attempts if a.state is AttemptState.SUCCEEDED]
    return succeeded[0] if succeeded else max((a.number for a in attempts), default=None)


def ended_attempt(record: RunRecord, number: int) -> EndedAttempt | None:
    """Return what is recorded of an attempt, None while it is not over."""
    for attempt in record.status.attempts:
        if attempt.number != number or attempt.state in LIVE_STATES:
            continue
        if attempt.start_time is None or attempt.completion_time is None:
            return None
        result = record.status.result
        return EndedAttempt(
            began_at=from_timestamp(attempt.start_time),
            ended_at=from_timestamp(attempt.completion_time),
            result=result if result is not None and result.attempt == number else None,
        )
    return None


def window_of(ended: EndedAttempt, clock_offset: float = 0.0) -> Window:
    """Return when an attempt trained, by our clock; all of it where that is not known.

    A result tells lengths and its pod whole seconds at both ends. Training cannot have begun
    before the pod's start and its setup, nor after the pod's end and all that was left then.
    """
    began_at, ended_at = ended.began_at - clock_offset, ended.ended_at - clock_offset
    result = ended.result
    if result is None or result.training_seconds is None or result.total_seconds is None:
        return Window(began_at, ended_at + WHOLE_SECOND, WHOLE_SECOND)
    setup = result.setup_seconds or 0.0
    length = result.training_seconds + (result.evaluation_seconds or 0.0)
    earliest = began_at + setup
    latest = max(ended_at + WHOLE_SECOND - result.total_seconds + setup, earliest)
    start = (earliest + latest) / 2
    return Window(start, start + length, (latest - earliest) / 2)


def attempt_of(watched: WatchedAttempt, ended: EndedAttempt, clock_offset: float = 0.0) -> Attempt:
    """Return an attempt as it is looked for among what exporters have shown."""
    device = ended.result.device if ended.result else None
    return Attempt(
        number=watched.key[1],
        pod=watched.pod,
        node=watched.node,
        began_at=ended.began_at - clock_offset,
        ended_at=ended.ended_at - clock_offset,
        gpus=watched.gpus,
        uuids=tuple(device.uuid_beginnings) if device else (),
    )
