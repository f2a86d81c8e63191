"""What polars raises for damaged data: its errors, and the panics of its parsers."""

from __future__ import annotations

from polars.exceptions import PanicException, PolarsError

# A panic is no Exception, so nothing else would catch it.
POLARS_ERRORS = (PolarsError, PanicException, OSError, ValueError, OverflowError)


def first_line(error: BaseException) -> str:
    """Return what an error says in short."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]
