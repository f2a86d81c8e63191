"""What the program of every rank does around its training: arguments, failures, the exit code."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpubench_workloads.reporting.die_with_parent import die_with_parent
from gpubench_workloads.reporting.rank_report import RankFailure, RankReport, write_rank_report


@dataclass(frozen=True)
class RankProgram:
    """A workload's training, and what it knows of its failures."""

    run_rank: Callable[[Path, Path], object]
    """Trains by a run spec into the folder of the attempt."""
    rank_number: Callable[[], int]
    describe_failure: Callable[[Exception], RankFailure]
    is_known: Callable[[Exception], bool]
    """Whether one line says all of an error, so that no traceback is needed."""


def run_as_rank(
    load: Callable[[Path], RankProgram],
    description: str | None,
    arguments: Sequence[str] | None = None,
) -> int:
    """Train as the run spec says and report; return 0 if training reached its end.

    A failure is reported like a success. What the rank knows by name costs one line of output,
    anything else its whole traceback. `load` imports torch, which takes seconds, and is given the
    folder of the attempt; until then the environment that libraries read can still be set.
    """
    die_with_parent()
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--spec", type=Path, required=True, help="the run's RunSpec as JSON")
    parser.add_argument("--output", type=Path, required=True, help="folder of the attempt")
    options = parser.parse_args(arguments)
    # Processor threads that have nothing to do sleep instead of spinning: beside loading workers
    # and other ranks they would keep busy threads off the cores. Read when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    program = load(options.output)
    try:
        program.run_rank(options.spec, options.output)
    except Exception as error:  # noqa: BLE001 - reported, printed and told by the exit code
        rank, failure = program.rank_number(), program.describe_failure(error)
        write_rank_report(options.output, RankReport(rank=rank, failure=failure))
        if program.is_known(error):
            print(f"rank {rank}: {failure.message}", file=sys.stderr)
        else:
            traceback.print_exc()
        return 1
    return 0


def exit_at_once(code: int) -> None:
    """Leave a rank that failed: to take down a process group whose others are gone may wait."""
    if code != 0:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
