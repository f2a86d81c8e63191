"""Conditions as Kubernetes means them: the last transition stays until the status changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from gpubench.api.benchmark import Condition
from gpubench.lifecycle.timestamps import to_timestamp

MAX_MESSAGE_LENGTH = 2000


@dataclass(frozen=True)
class Judgement:
    """Whether something holds, in one word why, and in a sentence what to do."""

    type: str
    holds: bool
    reason: str
    message: str


def make_conditions(
    judgements: Iterable[Judgement],
    previous: Sequence[Condition],
    generation: int | None,
    now: float,
) -> list[Condition]:
    """Return the conditions, each with the moment at which its status last changed."""
    before = {condition.type: condition for condition in previous}
    return [_make(judged, before.get(judged.type), generation, now) for judged in judgements]


def _make(
    judged: Judgement, before: Condition | None, generation: int | None, now: float
) -> Condition:
    status: Literal["True", "False"] = "True" if judged.holds else "False"
    unchanged = before is not None and before.status == status
    return Condition(
        type=judged.type,
        status=status,
        reason=judged.reason,
        message=judged.message[:MAX_MESSAGE_LENGTH],
        observed_generation=generation,
        last_transition_time=(
            before.last_transition_time if before is not None and unchanged else to_timestamp(now)
        ),
    )
