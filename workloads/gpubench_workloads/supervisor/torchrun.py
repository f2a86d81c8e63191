"""torchrun, and beside it a file that tells how each rank ended.

torchrun itself exits with 1 whatever happened to its ranks, and prints the rest for people.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from gpubench_workloads.profiling.curtain import draw_curtain
from gpubench_workloads.profiling.environment import ENVIRONMENT_VARIABLE
from gpubench_workloads.reporting.die_with_parent import PARENT_VARIABLE, die_with_parent

EXITS_VARIABLE = "GPUBENCH_RANK_EXITS"
"""Environment variable that names the file."""


def main() -> int:
    """Run torchrun with this process's arguments; return 0 if every rank did."""
    die_with_parent()
    os.environ[PARENT_VARIABLE] = str(os.getpid())
    if withheld := os.environ.get(ENVIRONMENT_VARIABLE):
        # Ranks below nsys: they find this file under this process's name.
        os.environ[ENVIRONMENT_VARIABLE] = withheld.replace("self", str(os.getpid()))
        draw_curtain()
    # After the call above, because torch takes seconds to import.
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import parse_args, run

    exits_path = Path(os.environ[EXITS_VARIABLE])
    try:
        run(parse_args(sys.argv[1:]))
    except ChildFailedError as error:
        exits = {rank: failure.exitcode for rank, failure in error.failures.items()}
        exits_path.write_text(json.dumps(exits), encoding="utf-8")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
