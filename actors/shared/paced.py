"""Long loops over what users write, in pieces: the loop of the actor serves others between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


async def pieces(items: Iterable[T], size: int) -> AsyncIterator[list[T]]:
    """The items in lists of at most `size`, with a pause for others after each."""
    left = iter(items)
    while piece := list(islice(left, size)):
        yield piece
        await asyncio.sleep(0)
