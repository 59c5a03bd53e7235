"""Repeats requests that the API server may refuse temporarily. It gives a node an object only once it knows a pod of
the node that refers to it, and the node may know the pod earlier."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Final, Protocol, TypeVar

PAUSES: Final = (0.1, 0.4)
"""Seconds before a refused request is repeated."""


class _Answer(Protocol):
    @property
    def reason(self) -> str: ...


Answer = TypeVar("Answer", bound=_Answer)


async def when_permitted(
    request: Callable[[], Awaitable[Answer]],
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    refusals: Collection[str] = ("Forbidden",),
) -> Answer:
    """The answer, or the last refusal if the request stays refused. `request` sends it once. `refusals`: reasons that
    may be temporary.
    """
    answer = await request()
    for pause in PAUSES:
        if answer.reason not in refusals:
            break
        await sleep(pause)
        answer = await request()
    return answer
