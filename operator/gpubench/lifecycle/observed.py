"""What a shell observes, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

from gpubench.api.benchmark import GPUBenchmarkSpec
from gpubench.api.enums import AttemptState, FailureClass, Isolation, ValidityStatus

LIVE_STATES = (AttemptState.PENDING, AttemptState.RUNNING)


@dataclass(frozen=True)
class ObservedAttempt:
    """One try at a run. Times are seconds since the epoch."""

    number: int
    state: AttemptState
    started_at: float
    """When it began to run; while it is pending, when it was made."""
    ended_at: float | None = None
    failure: FailureClass | None = None
    message: str = ""
    """Why it failed, or what a pending one waits for."""
    validity: ValidityStatus | None = None
    throughput: float | None = None
    queued: bool = False
    """Whether it waits in a queue that may let it wait as long as it likes."""

    @property
    def has_begun(self) -> bool:
        """Whether its ranks ever ran; one that was given up before has no length."""
        if self.state is AttemptState.FAILED:
            return self.started_at != self.ended_at
        return self.state is not AttemptState.PENDING

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it runs."""
        return None if self.ended_at is None else self.ended_at - self.started_at


@dataclass(frozen=True)
class ObservedRun:
    """One run of a sweep with all its attempts, oldest first.

    `forgiven` attempts, the oldest ones, do not count against the retry limit: a user who starts
    the benchmark again means the failed runs to be tried again.
    """

    name: str
    point_hash: str
    gpus: int
    attempts: tuple[ObservedAttempt, ...] = ()
    forgiven: int = 0

    @cached_property
    def accepted(self) -> ObservedAttempt | None:
        """The attempt whose result stands for the run: the first that succeeded."""
        succeeded = (a for a in self.attempts if a.state is AttemptState.SUCCEEDED)
        return next(succeeded, None)

    @cached_property
    def live(self) -> ObservedAttempt | None:
        """The attempt that is running, or about to."""
        return next((a for a in self.attempts if a.state in LIVE_STATES), None)

    @property
    def counted_failures(self) -> tuple[ObservedAttempt, ...]:
        """Failed attempts that the retry limit looks at."""
        counted = self.attempts[self.forgiven :]
        return tuple(a for a in counted if a.state is AttemptState.FAILED)

    @property
    def next_attempt(self) -> int:
        """Number of the attempt that would come next."""
        return max((a.number for a in self.attempts), default=0) + 1


@dataclass(frozen=True)
class Capacity:
    """What runs may use."""

    gpus: int
    """GPUs (on a CPU, ranks) at the same time."""
    nodes: int = 1
    """Nodes that could run one of the runs."""


@dataclass(frozen=True)
class Policy:
    """What a benchmark's spec says about executing its runs."""

    parallelism: int | None
    isolation: Isolation
    timeout_seconds: int
    retry_limit: int
    retry_backoff_seconds: int
    failure_budget: int | None
    suspended: bool
    start_timeout_seconds: int | None = None
    """Longest time that an attempt may be pending; None where nothing is ever pending."""

    @classmethod
    def from_spec(cls, spec: GPUBenchmarkSpec, start_timeout_seconds: int | None = None) -> Self:
        """Take from a spec what decisions depend on."""
        execution = spec.execution
        return cls(
            parallelism=execution.parallelism,
            isolation=execution.isolation,
            timeout_seconds=execution.timeout_seconds,
            retry_limit=execution.retry_limit,
            retry_backoff_seconds=execution.retry_backoff_seconds,
            failure_budget=execution.failure_budget,
            suspended=spec.suspend,
            start_timeout_seconds=start_timeout_seconds,
        )
