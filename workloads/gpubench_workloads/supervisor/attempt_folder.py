"""The attempt's folder where nobody made it: in a pod, on a results volume."""

from __future__ import annotations

import time
from pathlib import Path

from gpubench.api.layout import RUN_SPEC_FILE
from gpubench_workloads.reporting.atomic_file import write_atomically


def make_attempt_folder(folder: Path, run_spec: str) -> None:
    """Make an empty folder for an attempt and put its spec into it.

    What is there already is from a pod of the same attempt that was deleted under way, or of a
    run that was deleted and made again; it is moved aside, so that nothing of it is taken for
    this attempt's and nothing is lost.

    Raises:
        OSError: the folder cannot be made or written to.
    """
    if folder.exists():
        folder.rename(folder.with_name(f"{folder.name}.replaced-{time.time_ns()}"))
    folder.mkdir(parents=True)
    write_atomically(folder / RUN_SPEC_FILE, run_spec)
