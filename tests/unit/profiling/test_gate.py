"""What the gate says of each way in which a profile can end."""

from __future__ import annotations

import pytest

from gpubench.api.compact import compact_result
from gpubench.api.enums import GateName, ValidityStatus
from gpubench.api.gates import compact_validity
from gpubench.api.profile import Profile, ProfileWindow
from gpubench.api.result import Gate, Validity
from gpubench_workloads.profiling.overhead import Overhead
from gpubench_workloads.profiling.records import KeeperRecord
from gpubench_workloads.profiling.verdict import RankOutcome, profile_gate
from gpubench_workloads.reporting.rank_report import ProfileSource, RankProfile
from tests.unit.results import run_spec, succeeded

WINDOW = RankProfile(source=ProfileSource.NSYS, first_step=21, steps=10, seconds=2.0)
PROFILE = Profile(
    source="Nsys", window=ProfileWindow(seconds=2.0, first_step=21, steps=10), families={}
)


def outcome(rank: int = 0, **fields: object) -> RankOutcome:
    values: dict[str, object] = {
        "covers": WINDOW,
        "keeper": KeeperRecord(nsys_exit=0, kept_rank=True),
        "report_bytes": 1000,
    }
    return RankOutcome(rank=rank, **(values | fields))  # type: ignore[arg-type]


def test_a_whole_profile_passes_and_tells_its_window_and_overhead() -> None:
    gate = profile_gate([outcome()], PROFILE, Overhead(0.042, 9, 10), None)
    assert gate.passed
    assert gate.message == (
        "steps 21 to 30, 2 s; overhead 4.2% (9 steps against 10 without the profiler)"
    )


def test_without_steps_to_compare_with_it_passes_and_says_so() -> None:
    gate = profile_gate([outcome()], PROFILE, None, None)
    assert gate.passed
    assert "overhead unknown" in gate.message


@pytest.mark.parametrize(
    ("keeper", "said"),
    [
        (KeeperRecord(nsys_exit=-9, kept_rank=True), "it was ended by SIGKILL"),
        (KeeperRecord(nsys_exit=1, kept_rank=True), "ended with exit code 1"),
        (KeeperRecord(nsys_exit=-9, kept_rank=True, overdue=True), "long after the training"),
        (KeeperRecord(nsys_exit=0, kept_rank=True), "ranks/nsys-0.log"),
        (KeeperRecord(nsys_exit=0, kept_rank=True, agent_lost=True), "its agent was ended"),
        (None, "it was stopped before it was done"),
    ],
)
def test_a_report_that_is_missing_fails_and_says_why(
    keeper: KeeperRecord | None, said: str
) -> None:
    gate = profile_gate([outcome(keeper=keeper, report_bytes=None)], None, None, None)
    assert not gate.passed
    assert gate.message.startswith("nsys left no report")
    assert said in gate.message


def test_what_only_some_ranks_lack_names_them() -> None:
    lost = outcome(rank=1, report_bytes=0)
    gate = profile_gate([outcome(), lost], PROFILE, None, None)
    assert not gate.passed
    assert gate.message.startswith("rank 1: nsys left an empty report")


def test_what_all_ranks_lack_is_said_once() -> None:
    note = "the training ended after 5 steps"
    never = RankProfile(source=ProfileSource.NSYS, note=note)
    outcomes = [outcome(rank, covers=never, report_bytes=None) for rank in range(4)]
    assert profile_gate(outcomes, None, None, None).message == note


def test_a_report_that_the_reader_left_out_fails() -> None:
    partial = PROFILE.model_copy(update={"notes": ["The report of rank 1 cannot be read: cut"]})
    assert not profile_gate([outcome(), outcome(1)], partial, None, None).passed
    harmless = PROFILE.model_copy(
        update={"notes": ["2 events outside of the window are left out."]}
    )
    assert profile_gate([outcome()], harmless, None, None).passed


def test_a_reduction_that_failed_fails() -> None:
    gate = profile_gate([outcome()], None, None, "reading the reports was ended by SIGKILL")
    assert not gate.passed
    assert gate.message == "reading the reports was ended by SIGKILL"


@pytest.mark.parametrize(
    ("keeper", "why"),
    [
        (None, "there is no nsys"),
        (KeeperRecord(nsys_exit=3), "nsys did not start: exit code 3"),
        (KeeperRecord(problem="nsys: Permission denied"), "did not start: nsys: Permission denied"),
        (KeeperRecord(exposed=[4711]), "process 4711"),
    ],
)
def test_torch_profiler_passes_in_its_place_and_says_why(
    keeper: KeeperRecord | None, why: str
) -> None:
    covers = WINDOW.model_copy(update={"source": ProfileSource.KINETO})
    gate = profile_gate([outcome(covers=covers, keeper=keeper)], PROFILE, None, None)
    assert gate.passed
    assert "; by torch.profiler: " in gate.message
    assert why in gate.message


def test_a_status_tells_what_became_of_the_profile_and_stays_valid() -> None:
    missing = Gate(name=GateName.PROFILE, passed=False, message="nsys left no report")
    result = succeeded(run_spec()).model_copy(update={"validity": Validity.from_gates([missing])})
    compact = compact_result(result, "0" * 64)
    judged = compact_validity(compact, [])
    assert judged is not None
    assert judged.status is ValidityStatus.VALID
    [failed] = judged.failed_gates
    assert (failed.name, failed.message) == (GateName.PROFILE, "nsys left no report")
