"""Conditions as Kubernetes means them."""

from __future__ import annotations

from gpubench.lifecycle.conditions import MAX_MESSAGE_LENGTH, Judgement, make_conditions

HOLDS = Judgement("Ready", True, "AllIsWell", "it is")
FAILS = Judgement("Ready", False, "Broken", "mend it")
BEGIN = "1970-01-01T00:00:10.000Z"
LATER = "1970-01-01T00:00:20.000Z"


def test_first_condition_has_changed_now() -> None:
    (condition,) = make_conditions([HOLDS], [], 3, 10.0)
    assert condition.to_json_dict() == {
        "type": "Ready",
        "status": "True",
        "reason": "AllIsWell",
        "message": "it is",
        "observedGeneration": 3,
        "lastTransitionTime": BEGIN,
    }


def test_transition_stays_while_only_reason_and_message_change() -> None:
    before = make_conditions([HOLDS], [], 3, 10.0)
    (condition,) = make_conditions([Judgement("Ready", True, "Other", "still")], before, 4, 20.0)
    assert (condition.reason, condition.message) == ("Other", "still")
    assert condition.observed_generation == 4
    assert condition.last_transition_time == BEGIN


def test_transition_moves_with_the_status() -> None:
    before = make_conditions([HOLDS], [], 3, 10.0)
    (condition,) = make_conditions([FAILS], before, 3, 20.0)
    assert (condition.status, condition.last_transition_time) == ("False", LATER)


def test_conditions_are_told_apart_by_type() -> None:
    before = make_conditions([HOLDS], [], 3, 10.0)
    other = Judgement("Complete", True, "Done", "")
    assert [c.last_transition_time for c in make_conditions([other, HOLDS], before, 3, 20.0)] == [
        LATER,
        BEGIN,
    ]


def test_condition_that_is_no_longer_judged_goes() -> None:
    before = make_conditions([HOLDS], [], 3, 10.0)
    assert make_conditions([], before, 3, 20.0) == []


def test_long_message_is_cut() -> None:
    long = Judgement("Ready", True, "AllIsWell", "x" * 40_000)
    assert len(make_conditions([long], [], 1, 0.0)[0].message) == MAX_MESSAGE_LENGTH
