"""From a report (`.nsys-rep`) to an export, by the `nsys` that is there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

from gpubench.profiles.errors import ProfileError

TIMEOUT_SECONDS = 1800
"""A report of gigabytes takes minutes; one that takes longer than this hangs."""


def export_report(
    report: Path, folder: Path, nsys: Path | None = None, timeout: float = TIMEOUT_SECONDS
) -> Path:
    """Export a report into a folder: parquet where this nsys can, else SQLite; return the export.

    Raises:
        ProfileError: there is no nsys, or it can export the report in neither form.
    """
    program = str(nsys) if nsys else shutil.which("nsys")
    if program is None or not Path(program).exists():
        msg = f"{report}: reading it needs nsys, which is not at {nsys or 'any place of PATH'}"
        raise ProfileError(msg)
    reasons = []
    for kind, name in (
        ("parquetdir", f"{report.stem}.parquet.d"),
        ("sqlite", f"{report.stem}.sqlite"),
    ):
        output = folder / name
        remove(output)
        reason = _export(program, report, output, kind, timeout)
        if reason is None:
            return output
        reasons.append(reason)
        remove(output)
    msg = f"{report}: nsys cannot export it ({reasons[-1]})"
    raise ProfileError(msg)


def remove(path: Path) -> None:
    """Remove a file or a folder; an export of another report must not be taken for this one's."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _export(program: str, report: Path, output: Path, kind: str, timeout: float) -> str | None:
    """Return why the export failed; None if it is there."""
    command = [program, "export", f"--type={kind}", "--force-overwrite=true"]
    command += [f"--output={output}", str(report)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # nsys starts children of its own, which must not outlive a timeout.
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"no end after {timeout:.0f} s"
    made = (
        output.is_dir() and any(output.glob("*.parquet"))
        if kind == "parquetdir"
        else output.is_file()
    )
    # Old versions end with 0 whatever happened, so only what they made counts.
    if process.returncode == 0 and made:
        return None
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return (lines[-1] if lines else f"exit code {process.returncode}")[:200]
