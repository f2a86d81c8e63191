"""The state machine of benchmarks and runs: pure decisions from what is observed.

    observe (a shell) -> decide(policy, runs, capacity, now) -> apply (the same shell)

Nothing here touches Kubernetes, processes, files or the clock. The local shell applies the
decisions to processes; the operator applies the same ones to jobs.
"""

from gpubench.api.enums import AttemptState
from gpubench.lifecycle.benchmark_status import (
    Observation,
    Obstacle,
    is_worth_writing,
    make_rejected_status,
    make_status,
)
from gpubench.lifecycle.decisions import Decision, StartAttempt, StopAttempt, decide
from gpubench.lifecycle.observed import (
    Capacity,
    ObservedAttempt,
    ObservedRun,
    Policy,
)
from gpubench.lifecycle.records import finished_attempts, make_run_status
from gpubench.lifecycle.retries import RETRY_RULES, RetryRule
from gpubench.lifecycle.runs import RunState, budget_is_spent, run_state
from gpubench.lifecycle.summary import Summary, summarize

__all__ = [
    "RETRY_RULES",
    "AttemptState",
    "Capacity",
    "Decision",
    "Observation",
    "ObservedAttempt",
    "ObservedRun",
    "Obstacle",
    "Policy",
    "RetryRule",
    "RunState",
    "StartAttempt",
    "StopAttempt",
    "Summary",
    "budget_is_spent",
    "decide",
    "finished_attempts",
    "is_worth_writing",
    "make_rejected_status",
    "make_run_status",
    "make_status",
    "run_state",
    "summarize",
]
