"""One writer per results folder, held by the kernel so that a killed holder lets go."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


class FolderLockedError(Exception):
    """Somebody else works on the results folder; the message names them."""


class FolderLock:
    """An exclusive lock on a file that tells who holds it."""

    def __init__(self, path: Path) -> None:
        """Lock by the file `path`, which is made if it is not there."""
        self._path = path

    @contextmanager
    def held(self, started_at: str) -> Iterator[None]:
        """Hold the lock; `started_at` is told to whoever finds it held.

        Raises:
            FolderLockedError: it is held; names the holder.
        """
        with self._path.open("a+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise FolderLockedError(self._describe_holder(file)) from None
            self._sign(file, started_at)
            yield
            file.truncate(0)

    def holder(self) -> str | None:
        """Return who holds the lock, None if nobody does."""
        try:
            with self._path.open("r", encoding="utf-8") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    return self._describe_holder(file)
        except FileNotFoundError:
            return None
        return None

    def _sign(self, file: IO[str], started_at: str) -> None:
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "startedAt": started_at}
        file.truncate(0)
        file.write(json.dumps(holder))
        file.flush()

    def _describe_holder(self, file: IO[str]) -> str:
        file.seek(0)
        try:
            holder = json.loads(file.read())
            who = f"process {holder['pid']} on {holder['host']} since {holder['startedAt']}"
        except (ValueError, KeyError, TypeError):
            who = "another process"
        return f"{self._path.parent} is in use by {who}"
