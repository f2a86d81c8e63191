"""Requests side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

Answer = TypeVar("Answer")


async def together(coroutines: Iterable[Coroutine[Any, Any, Answer]]) -> list[Answer]:
    """Run coroutines side by side; the first that fails ends the others and is raised.

    None of them goes on behind the back of what comes next, as they would after a `gather`.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]
