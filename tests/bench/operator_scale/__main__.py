"""`python -m tests.bench.operator_scale`: the numbers of docs/scale.md."""

from __future__ import annotations

import argparse

from tests.bench.operator_scale.scenario import Plan, run_scenario


def main() -> None:
    """Run the scenario as asked for."""
    parser = argparse.ArgumentParser(prog="operator_scale", description=__doc__)
    parser.add_argument("--parallelism", type=int, default=Plan.parallelism)
    parser.add_argument("--only-sweep", action="store_true", help="no kill, no 10,000 runs")
    parser.add_argument("--nice", type=int, default=0, help="below 0: before other work (root)")
    options = parser.parse_args()
    stages = frozenset[str]() if options.only_sweep else Plan.stages
    run_scenario(Plan(parallelism=options.parallelism, stages=stages, nice=options.nice))


if __name__ == "__main__":
    main()
