"""Copies between two connections in both directions, at the speed of the slower one, until one of them ends."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from tornado.iostream import IOStream, StreamClosedError

CHUNK_BYTES: Final = 64 << 10
LINGER_SECONDS: Final = 4.0
"""Time to deliver the last bytes to one end after the other one has closed."""


class _Activity:
    def __init__(self) -> None:
        self.at = time.monotonic()


async def join(one: IOStream, other: IOStream, idle_seconds: float) -> None:
    """Return when both are closed. `idle_seconds`: close them after this time without a byte; 0: never."""
    activity = _Activity()
    directions = [
        asyncio.ensure_future(_copy(one, other, activity)),
        asyncio.ensure_future(_copy(other, one, activity)),
    ]
    try:
        await _first_end(directions, activity, idle_seconds)
    finally:
        for direction in directions:
            direction.cancel()
        await asyncio.gather(*directions, return_exceptions=True)
        one.close()
        other.close()


async def _first_end(directions: list[asyncio.Task[None]], activity: _Activity, idle_seconds: float) -> None:
    while True:
        left = activity.at + idle_seconds - time.monotonic() if idle_seconds else None
        if left is not None and left <= 0:
            return
        done, _ = await asyncio.wait(directions, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if done:
            return


async def _copy(source: IOStream, target: IOStream, activity: _Activity) -> None:
    """Copy until the source ends and all of it is written, or the target does not take it in time."""
    try:
        while True:
            data = await source.read_bytes(CHUNK_BYTES, partial=True)
            activity.at = time.monotonic()
            written = target.write(data)
            if source.closed():
                await asyncio.wait([asyncio.ensure_future(written)], timeout=LINGER_SECONDS)
            else:
                await written
    except StreamClosedError:
        return
