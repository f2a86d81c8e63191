"""The range that opens and closes the profile's window, without trusting the profiler to answer.

nsys answers the start and the end of this range only when it has begun or stopped recording, and
if its agent is gone by then it answers half an hour later (seen with 2024.2.3). So a thread waits
for it, outside Python's lock, which the package `nvtx` would hold; it calls the same library.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

LIBRARY = ("nvidia-nvtx", "libnvtx3interop.so")
"""The package with NVTX's functions, which comes with torch, and how their file's name begins."""
LOOK_SECONDS = 0.1
"""How often to look whether the profiler is still there."""
GRACE_SECONDS = 5.0
"""How long a profiler that has ended may have kept its answer under way."""
VERSION = 3
REGISTERED = 3
"""How an event tells that its message is a registered string."""


class _Event(ctypes.Structure):
    """nvtxEventAttributes_t of NVTX 3 (nvToolsExt.h)."""

    _fields_ = (
        ("version", ctypes.c_uint16),
        ("size", ctypes.c_uint16),
        ("category", ctypes.c_uint32),
        ("color_type", ctypes.c_int32),
        ("color", ctypes.c_uint32),
        ("payload_type", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("payload", ctypes.c_uint64),
        ("message_type", ctypes.c_int32),
        ("message", ctypes.c_void_p),
    )


class WindowRange:
    """A range of a domain that begins and ends once."""

    def __init__(self, domain: str, name: str, is_profiler_gone: Callable[[], bool]) -> None:
        """Make the range of this name; `is_profiler_gone` tells whom not to wait for any more.

        Raises:
            OSError: there is no NVTX library.
        """
        library = ctypes.CDLL(str(find_library()))
        library.nvtxDomainCreateA.restype = ctypes.c_void_p
        library.nvtxDomainRegisterStringA.restype = ctypes.c_void_p
        library.nvtxDomainRegisterStringA.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        library.nvtxDomainRangeStartEx.restype = ctypes.c_uint64
        library.nvtxDomainRangeStartEx.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Event)]
        library.nvtxDomainRangeEnd.restype = None
        library.nvtxDomainRangeEnd.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
        self._library = library
        self._domain = library.nvtxDomainCreateA(domain.encode())
        self._name = library.nvtxDomainRegisterStringA(self._domain, name.encode())
        self._is_profiler_gone = is_profiler_gone
        self._range = 0

    def start(self) -> bool:
        """Begin; return whether the profiler answered."""
        event = _Event(
            version=VERSION,
            size=ctypes.sizeof(_Event),
            message_type=REGISTERED,
            message=self._name,
        )

        def call() -> None:
            self._range = self._library.nvtxDomainRangeStartEx(self._domain, ctypes.byref(event))

        return self._answers(call)

    def end(self) -> bool:
        """End; return whether the profiler answered."""
        return self._answers(partial(self._library.nvtxDomainRangeEnd, self._domain, self._range))

    def _answers(self, call: Callable[[], object]) -> bool:
        """Return whether a call returns, for which is waited as long as the profiler lives."""
        thread = threading.Thread(target=call, name="nvtx", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(LOOK_SECONDS)
            if self._is_profiler_gone():
                thread.join(GRACE_SECONDS)
                return not thread.is_alive()
        return True


def find_library() -> Path:
    """Return where NVTX's functions are.

    Raises:
        OSError: they are not installed.
    """
    package, beginning = LIBRARY
    try:
        found = [f.locate() for f in files(package) or [] if f.name.startswith(beginning)]
    except PackageNotFoundError:
        found = []
    if not found:
        raise OSError(f"{package} is not installed: there is no {beginning}")
    return Path(str(found[0]))
