"""gpubench profile: any profiler's reports as numbers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpubench.cli import exit_codes
from gpubench.cli.errors import fail

if TYPE_CHECKING:
    from gpubench.api.profile import Profile


PLOT_FORMS = (".png", ".svg", ".html")


class ProfileFormat(StrEnum):
    """The forms that a profile is written in."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


def profile(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="REPORT|FOLDER",
            help="A report (.nsys-rep, .sqlite, a folder of parquet files; of torch.profiler .json"
            " or .json.gz), or a folder with one for each rank, such as that of a run.",
        ),
    ],
    form: Annotated[
        ProfileFormat | None,
        typer.Option("--format", help="By default what --output ends with, else a table."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw it, too: .png, .svg or .html.")
    ] = None,
    nsys: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The nsys that exports a .nsys-rep; else that of PATH."),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option("--whole", help="Count what lies outside of the training's window, too."),
    ] = False,
) -> None:
    """Reduce a profiler's reports to numbers: where the time went on host and GPU."""
    chosen = _format(form, output)
    if plot is not None and plot.suffix not in PLOT_FORMS:
        allowed = ", ".join(PLOT_FORMS)
        raise fail(
            f"--plot {plot}: not a form of picture; allowed: {allowed}", exit_codes.BAD_INPUT
        )
    found = _read(path, nsys, whole=whole)
    text = _render(found, chosen)
    if output is None:
        print(text, end="")
    else:
        _write(output, text, "--output")
    if plot is not None:
        from gpubench.cli.plot_profile import plot_profile

        _write(plot, plot_profile(found, plot.suffix, f"Profile of {path}"), "--plot")


def _format(form: ProfileFormat | None, output: Path | None) -> ProfileFormat:
    if form is not None:
        if form is ProfileFormat.PARQUET and output is None:
            raise fail("--format parquet: goes with --output FILE", exit_codes.BAD_INPUT)
        return form
    suffix = output.suffix.removeprefix(".") if output else ""
    return ProfileFormat(suffix) if suffix in list(ProfileFormat) else ProfileFormat.TABLE


def _read(path: Path, nsys: Path | None, *, whole: bool) -> Profile:
    from tempfile import TemporaryDirectory

    try:
        from gpubench.profiles import ProfileError, read_profile
        from gpubench.profiles.finding import find_reports
    except ModuleNotFoundError as error:
        message = f"reading profiles needs {error.name}: install gpubench[report]"
        raise fail(message, exit_codes.CANNOT_RUN) from None
    try:
        reports = find_reports(path)
        with TemporaryDirectory(prefix="gpubench-profile-") as scratch:
            return read_profile(reports, Path(scratch), nsys=nsys, whole=whole, most_names=None)
    except ProfileError as error:
        raise fail(str(error), exit_codes.CANNOT_RUN) from None


def _render(found: Profile, form: ProfileFormat) -> str | bytes:
    if form is ProfileFormat.TABLE:
        from gpubench.cli.present_profile import profile_text

        return profile_text(found)
    from gpubench.profiles import documents

    if form is ProfileFormat.CSV:
        return documents.profile_csv(found)
    if form is ProfileFormat.PARQUET:
        return documents.profile_parquet(found)
    return documents.profile_json(found)


def _write(output: Path, content: str | bytes, option: str) -> None:
    try:
        if isinstance(content, bytes):
            output.write_bytes(content)
        else:
            output.write_text(content, encoding="utf-8")
    except OSError as error:
        message = f"{option} {output}: cannot write there ({error.strerror})"
        raise fail(message, exit_codes.CANNOT_RUN) from None
