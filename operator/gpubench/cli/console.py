"""The console that commands print on."""

from __future__ import annotations

import os

from rich.console import Console

WIDTH_OFF_A_TERMINAL = 140
"""Wide enough for every table of a report; a file or a pipe has no width of its own."""


def make_console() -> Console:
    """Return a console as wide as the terminal, or as the tables where there is none."""
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OFF_A_TERMINAL
    return console
