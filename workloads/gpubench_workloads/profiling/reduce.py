"""python -m gpubench_workloads.profiling.reduce: reports to numbers, in a process of its own.

Its memory, its crashes and its slowness are its own. Prints the Profile as JSON; what cannot be
read is one line on the error output and exit code 1.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from pathlib import Path

import psutil

from gpubench_workloads.reporting.die_with_parent import die_with_parent

LARGEST_SHARE = 0.8
"""Of the memory that is free now, which this process may take."""
ENDED_FIRST = "1000"
"""What makes the kernel choose this process when it needs memory back."""


def main() -> int:
    """Read the reports, print their numbers."""
    die_with_parent()
    Path("/proc/self/oom_score_adj").write_text(ENDED_FIRST, encoding="ascii")
    limit = int(psutil.virtual_memory().available * LARGEST_SHARE)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--nsys", type=Path)
    parser.add_argument("reports", nargs="+", help="RANK=PATH")
    options = parser.parse_args()
    # After the limits above, which hold for what these import, too.
    from gpubench.profiles import ProfileError, read_profile

    pairs = (report.split("=", 1) for report in options.reports)
    reports = {int(rank): Path(path) for rank, path in pairs}
    try:
        profile = read_profile(reports, options.scratch, nsys=options.nsys)
    except ProfileError as error:
        print(error, file=sys.stderr)
        return 1
    print(profile.model_dump_json(by_alias=True, exclude_none=True))
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
