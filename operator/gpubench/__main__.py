"""The command line: python -m gpubench."""

from gpubench.cli import main

main()
