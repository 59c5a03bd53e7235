"""Copies between two connections in both directions, at the speed of the slower one, until one of them ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from tornado.iostream import IOStream, StreamClosedError

CHUNK_BYTES: Final = 64 << 10
LINGER_SECONDS: Final = 4.0
"""Time to deliver the last bytes to one end after the other one has closed."""


class Activity:
    """When the last byte came."""

    def __init__(self) -> None:
        self.at = time.monotonic()

    def seen(self) -> None:
        self.at = time.monotonic()


async def join(one: IOStream, other: IOStream, idle_seconds: float) -> None:
    """Return when both are closed. `idle_seconds`: close them after this time without a byte; 0: never."""
    await run(one, other, idle_seconds, lambda activity: [_copy(one, other, activity), _copy(other, one, activity)])


async def run(
    one: IOStream,
    other: IOStream,
    idle_seconds: float,
    directions: Callable[[Activity], list[Coroutine[Any, Any, None]]],
) -> None:
    """Run both directions until one of them ends; then both connections are closed."""
    activity = Activity()
    tasks = [asyncio.ensure_future(direction) for direction in directions(activity)]
    try:
        await _first_end(tasks, activity, idle_seconds)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        one.close()
        other.close()


async def _first_end(directions: list[asyncio.Task[None]], activity: Activity, idle_seconds: float) -> None:
    while True:
        left = activity.at + idle_seconds - time.monotonic() if idle_seconds else None
        if left is not None and left <= 0:
            return
        done, _ = await asyncio.wait(directions, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if done:
            return


async def _copy(source: IOStream, target: IOStream, activity: Activity) -> None:
    """Copy until the source ends and all of it is written, or the target does not take it in time."""
    try:
        while True:
            data = await source.read_bytes(CHUNK_BYTES, partial=True)
            activity.seen()
            written = target.write(data)
            if source.closed():
                await asyncio.wait([asyncio.ensure_future(written)], timeout=LINGER_SECONDS)
            else:
                await written
            await asyncio.sleep(0)  # neither reading nor writing pauses while both ends keep up
    except StreamClosedError:
        return
