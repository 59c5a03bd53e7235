"""Requests that the API server may refuse for a moment: it lets a node have an object once it knows of a pod of this
node that refers to it, and the node may know of the pod first."""

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
    """The answer; of a request that stays refused, the last refusal. `request` makes it once. `refusals`: reasons of
    answers that may be temporary.
    """
    answer = await request()
    for pause in PAUSES:
        if answer.reason not in refusals:
            break
        await sleep(pause)
        answer = await request()
    return answer
