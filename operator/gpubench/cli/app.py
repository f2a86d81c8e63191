"""The application: every command by name."""

from __future__ import annotations

import sys

import typer

from gpubench.cli.commands.crd import crd
from gpubench.cli.commands.expand import expand
from gpubench.cli.commands.list import list_benchmarks
from gpubench.cli.commands.logs import logs
from gpubench.cli.commands.profile import profile
from gpubench.cli.commands.pull import pull
from gpubench.cli.commands.report import report
from gpubench.cli.commands.run import run
from gpubench.cli.commands.show import show
from gpubench.cli.commands.validate import validate

EXIT_CODES_HELP = """
Exit codes: 0 all runs valid; 1 some runs failed, are invalid or missing; 2 bad input, nothing
started; 3 this machine, folder or cluster cannot be used; 130 interrupted, run again to go on.

On a cluster: with --backend kubernetes (or GPUBENCH_BACKEND=kubernetes), --namespace, --context or
--kubeconfig a command is about the cluster, else about this machine.
"""

app = typer.Typer(
    name="gpubench",
    help="Measure how fast your machines really train.",
    epilog=EXIT_CODES_HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Help in plain text: rich alone takes as long to import as the answer may take.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(validate)
app.command()(expand)
app.command()(run)
app.command("list")(list_benchmarks)
app.command()(show)
app.command()(logs)
app.command()(report)
app.command()(pull)
app.command()(profile)
app.command()(crd)


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    """Measure how fast your machines really train."""
    if version:
        from gpubench import __version__

        print(f"gpubench {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    """Run the command line."""
    try:
        app()
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does.
        sys.stderr.close()
        sys.exit(0)
