"""Runs in a pod with nothing but Python: writes files of a results volume to stdout, as a tar.

    python3 -c <this file> FOLDER       stdin: one line, the attempts to leave out (JSON list)

The first line on stderr is the number of bytes to come. It exits with NOT_THERE if the volume has
no such folder. Only `<run>/attempt-<n>/...` is sent, and no links.
"""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

NOT_THERE = 44


def _files(folder: Path, left_out: set[str]) -> Iterator[Path]:
    for attempt in sorted(folder.glob("*/attempt-*")):
        if attempt.relative_to(folder).as_posix() not in left_out:
            yield from (p for p in sorted(attempt.rglob("*")) if p.is_file() and not p.is_symlink())


def _send(folder: Path, left_out: set[str]) -> None:
    paths = list(_files(folder, left_out))
    print(sum(path.stat().st_size for path in paths), file=sys.stderr, flush=True)
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
        for path in paths:
            try:
                file = path.open("rb")
            except FileNotFoundError:
                # An attempt that is not over replaces its files.
                continue
            with file:
                name = path.relative_to(folder).as_posix()
                archive.addfile(archive.gettarinfo(arcname=name, fileobj=file), file)


if __name__ == "__main__":
    if not Path(sys.argv[1]).is_dir():
        sys.exit(NOT_THERE)
    _send(Path(sys.argv[1]), set(json.loads(sys.stdin.readline())))
