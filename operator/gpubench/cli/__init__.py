"""The command line: thin commands over the rooms.

Nothing heavy is imported before a command needs it, so that `gpubench --help` answers at once.
"""

from gpubench.cli.app import main

__all__ = ["main"]
