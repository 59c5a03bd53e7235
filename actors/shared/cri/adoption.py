"""Making something under a name that may be taken by an earlier try of ours.

When a create hits its deadline, or is told that the name is reserved, what was asked for may be there, may be in the
making, or may have failed. It is looked for by labels, name and attempt until it shows up; the runtime's reservation of
the name sees to it that there are never two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from .errors import DeadlineExceeded, NameReserved


@dataclass(frozen=True)
class Found:
    """What has the name: `usable` when it is what was to be made, and as good as new."""

    id: str
    usable: bool


Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Settling:
    """How long to look for it: the first pause, the longest one (each is twice the one before), and all of them."""

    first: float = 0.1
    longest: float = 1.0
    total: float = 15.0
    sleep: Sleep = asyncio.sleep

    def pauses(self) -> Iterator[float]:
        """Seconds to wait before each next try."""
        pause, waited = self.first, 0.0
        while waited < self.total:
            yield pause
            waited += pause
            pause = min(2 * pause, self.longest)


DEFAULT_SETTLING = Settling()


async def create_or_adopt(
    create: Callable[[], Awaitable[str]],
    find: Callable[[], Awaitable[Found | None]],
    settling: Settling = DEFAULT_SETTLING,
) -> str:
    """The id of what `create` made, or of what `find` found of an earlier try. Raises what `create` raised."""
    try:
        return await create()
    except (DeadlineExceeded, NameReserved) as error:
        failure: DeadlineExceeded | NameReserved = error
    pauses = settling.pauses()
    while True:
        found = await find()
        if found is not None and found.usable:
            return found.id
        pause = next(pauses, None)
        if found is not None or pause is None:
            raise failure
        await settling.sleep(pause)
        if isinstance(failure, NameReserved):
            try:
                return await create()  # answered at once while the name is reserved; succeeds when that try has failed
            except NameReserved as error:
                failure = error
