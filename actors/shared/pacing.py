"""Splits long loops over users' data, so that the actor's loop serves other work in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


async def pieces(items: Iterable[T], size: int) -> AsyncIterator[list[T]]:
    """The items in lists of at most `size`; other tasks run after each list."""
    left = iter(items)
    while piece := list(islice(left, size)):
        yield piece
        await asyncio.sleep(0)
