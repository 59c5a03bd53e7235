"""Creates a sandbox or container, or adopts the result of an earlier create with the same name.

When a create hits its deadline, or fails because the name is reserved, the object may exist, may still be in creation,
or may have failed. It is searched for by labels, name and attempt until it appears. The runtime reserves the name, so
there are never two.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from supervision.backoff import RetrySchedule

from .errors import DeadlineExceeded, NameReserved, StillCreating


@dataclass(frozen=True)
class ExistingObject:
    """The object with the name. `usable`: it has the wanted configuration and has not been started."""

    id: str
    usable: bool


Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class PollSchedule:
    """The pauses between queries of the runtime: the first, the longest (each is twice the previous one), their sum."""

    first: float = 0.1
    longest: float = 1.0
    total: float = 15.0
    sleep: Sleep = asyncio.sleep

    def pauses(self) -> Iterator[float]:
        """Seconds to wait before each retry."""
        schedule, waited = RetrySchedule(self.first, self.longest), 0.0
        for tries in itertools.count(1):
            if waited >= self.total:
                return
            yield (pause := schedule.pause(tries))
            waited += pause


DEFAULT_POLLING = PollSchedule()


async def create_or_adopt(
    create: Callable[[], Awaitable[str]],
    find: Callable[[], Awaitable[ExistingObject | None]],
    polling: PollSchedule = DEFAULT_POLLING,
) -> str:
    """The ID from `create`, or of the usable object from `find`. Raises the error of `create`; StillCreating if the
    name is reserved but no object has it."""
    try:
        return await create()
    except (DeadlineExceeded, NameReserved) as error:
        failure: DeadlineExceeded | NameReserved = error
    pauses = polling.pauses()
    while True:
        existing = await find()
        if existing is not None and existing.usable:
            return existing.id
        pause = next(pauses, None)
        if pause is None and existing is None and isinstance(failure, NameReserved):
            raise StillCreating(failure.method, failure.code, failure.details)
        if existing is not None or pause is None:
            raise failure
        await polling.sleep(pause)
        if isinstance(failure, NameReserved):
            try:
                return await create()  # fails while the name is reserved; succeeds once the earlier one failed
            except NameReserved as error:
                failure = error
