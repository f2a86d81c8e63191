"""`python -m tests.e2e.cluster prepare|up|down|status`."""

from __future__ import annotations

import argparse
import sys
import time

from tests.e2e.cluster.cluster import down, prepare, status, up
from tests.e2e.cluster.commands import ClusterError
from tests.e2e.cluster.layout import Layout


def main() -> int:
    """0 when all is well, 1 when not."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.cluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("prepare", help="install and build what it needs, start nothing")
    start = commands.add_parser("up", help="start whatever does not run")
    start.add_argument("--keep", action="store_true", help="with the objects of last time")
    stop = commands.add_parser("down", help="end all of it")
    stop.add_argument("--purge", action="store_true", help="remove the images as well")
    commands.add_parser("status", help="tell what runs")
    arguments = parser.parse_args()
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {text}", flush=True)

    try:
        layout = Layout.of_environment()
        if arguments.command == "prepare":
            prepare(layout, say)
            return 0
        if arguments.command == "status":
            healthy, lines = status(layout)
            print("\n".join(lines))
            return 0 if healthy else 1
        if arguments.command == "down":
            down(layout, purge=arguments.purge)
            say("the cluster is down")
            return 0
        cluster = up(layout, say, keep=arguments.keep)
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    say(f"the cluster is up; now: export KUBECONFIG={cluster.kubeconfig}")
    print(f"         kubectl and helm are in {cluster.binaries}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
