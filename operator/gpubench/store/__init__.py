"""Results folders: read, verify, lock. The layout's names are in gpubench.api.layout."""

from gpubench.store.attempts import StoredAttempt, read_attempts
from gpubench.store.folder import (
    ResultsFolder,
    ResultsFolderError,
    list_benchmarks,
)
from gpubench.store.lock import FolderLock, FolderLockedError
from gpubench.store.text_files import write_atomically

__all__ = [
    "FolderLock",
    "FolderLockedError",
    "ResultsFolder",
    "ResultsFolderError",
    "StoredAttempt",
    "list_benchmarks",
    "read_attempts",
    "write_atomically",
]
