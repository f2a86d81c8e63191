"""`python -m gpubench_workloads.llm_tuning`: one rank, as torchrun starts it."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from gpubench_workloads.llm_tuning.plan import CACHE_FOLDER
from gpubench_workloads.reporting.die_with_parent import die_with_parent

SETTINGS = {
    # A run fetches nothing and tells nobody anything; `gpubench`'s guide says how to fetch before.
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Environment of the libraries below, where the user has not set it; read when they are loaded."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Tune as the run spec says and report; return 0 if training reached its end.

    A failure is reported like a success. What the rank knows by name costs one line of output,
    anything else its whole traceback.
    """
    die_with_parent()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec", type=Path, required=True, help="the run's RunSpec as JSON")
    parser.add_argument("--output", type=Path, required=True, help="folder of the attempt")
    options = parser.parse_args(arguments)
    # Processor threads that have nothing to do sleep instead of spinning: beside loading workers
    # and other ranks they would keep busy threads off the cores. Read when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("HF_DATASETS_CACHE", str(options.output.absolute() / CACHE_FOLDER))
    # After all that, because torch takes seconds to import.
    from gpubench_workloads.image_recognition.ranks import rank_number
    from gpubench_workloads.llm_tuning import failures
    from gpubench_workloads.llm_tuning.run import run_rank
    from gpubench_workloads.reporting.rank_report import RankReport, write_rank_report

    try:
        run_rank(options.spec, options.output)
    except Exception as error:  # noqa: BLE001 - reported, printed and told by the exit code
        failure = failures.describe_failure(error)
        write_rank_report(options.output, RankReport(rank=rank_number(), failure=failure))
        if failures.is_known(error):
            print(f"rank {rank_number()}: {failure.message}", file=sys.stderr)
        else:
            traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    if code != 0:
        # At once: taking down a process group whose other ranks are gone may wait for them.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
