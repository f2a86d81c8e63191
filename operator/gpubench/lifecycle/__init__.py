"""The state machine of benchmarks and runs: pure decisions from what is observed.

    observe (a shell) -> decide(policy, runs, capacity, now) -> apply (the same shell)

Nothing here touches Kubernetes, processes, files or the clock. The local shell applies the
decisions to processes; the operator applies the same ones to jobs.
"""

from gpubench.lifecycle.decisions import Decision, StartAttempt, StopAttempt, decide
from gpubench.lifecycle.observed import (
    AttemptState,
    Capacity,
    ObservedAttempt,
    ObservedRun,
    Policy,
)
from gpubench.lifecycle.retries import RETRY_RULES, RetryRule
from gpubench.lifecycle.runs import RunState, budget_is_spent, run_state
from gpubench.lifecycle.summary import Summary, summarize

__all__ = [
    "RETRY_RULES",
    "AttemptState",
    "Capacity",
    "Decision",
    "ObservedAttempt",
    "ObservedRun",
    "Policy",
    "RetryRule",
    "RunState",
    "StartAttempt",
    "StopAttempt",
    "Summary",
    "budget_is_spent",
    "decide",
    "run_state",
    "summarize",
]
