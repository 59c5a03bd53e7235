"""Copies between a caller and a runtime in both directions, at the speed of the slower one, until one of them ends.

After a runtime has closed, it gets no more input, and the caller gets all of its output, however slowly it reads. A
caller that has closed while the runtime takes none of its input ends the stream, too.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Final

from tornado.iostream import IOStream, StreamClosedError

from actors.http_servers.serving.connections import has_left
from actors.http_servers.serving.loop_turns import LoopTurns
from supervision.time_scale import scaled

from .caller_frames import CallerFrames
from .lost_status import IDLE, RUNTIME_LEFT
from .passed_status import PassedStatus
from .spdy import SpdyError

CHUNK_BYTES: Final = 64 << 10
LINGER_SECONDS: Final = 4.0
"""Seconds for a runtime to take the last input of a caller that has closed, and for a caller to close after the last
output. If a connection is closed with unread input, it is reset, and output on its way to the caller is lost."""
POLL_SECONDS: Final = 5.0
"""Seconds between checks for a caller that is gone: its end comes behind input that nobody reads while the runtime
takes none."""


class Activity:
    """The time of the last byte, and the turns of the server's streams."""

    def __init__(self, turns: LoopTurns) -> None:
        self.at, self.turns = time.monotonic(), turns

    def seen(self) -> None:
        self.at = time.monotonic()


async def join(
    caller: IOStream,
    runtime: IOStream,
    idle_seconds: float,
    turns: LoopTurns,
    status: PassedStatus | None = None,
    frames: CallerFrames | None = None,
) -> None:
    """Return when both are closed. `idle_seconds`: close them after this time without a byte; 0: never. `status`: of a
    command, over SPDY. `frames`: those of the caller, over SPDY."""
    await run(
        caller,
        runtime,
        idle_seconds,
        Activity(turns),
        partial(_input, caller, runtime, status, frames),
        partial(_output, runtime, caller, status),
        status.last_words if status is not None else _silence,
    )


def _silence(_cause: str) -> bytes:
    return b""


Direction = Callable[[Activity], Coroutine[Any, Any, None]]
"""Copies one direction until the stream ends."""


async def run(
    caller: IOStream,
    runtime: IOStream,
    idle_seconds: float,
    activity: Activity,
    from_caller: Direction,
    from_runtime: Direction,
    last_words: Callable[[str], bytes],
) -> None:
    """Run both directions until one of them ends; then both connections are closed. `last_words`: what a caller is told
    by this cause that ends the stream."""
    tasks = [asyncio.ensure_future(direction(activity)) for direction in (from_caller, from_runtime)]
    from_client, from_upstream = tasks
    try:
        words = last_words(IDLE) if await _first_end(tasks, caller, activity, idle_seconds) else b""
        await write_last(caller, words)
        if (words or from_upstream.done()) and not caller.closed():
            _end_output(caller)
            await asyncio.wait([from_client], timeout=LINGER_SECONDS)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        caller.close()
        runtime.close()


async def _first_end(
    directions: list[asyncio.Task[None]], caller: IOStream, activity: Activity, idle_seconds: float
) -> bool:
    """Returns whether the stream was idle for too long."""
    while True:
        quiet = time.monotonic() - activity.at
        if idle_seconds and quiet >= idle_seconds:
            return True
        if quiet >= LINGER_SECONDS and not caller.closed() and has_left(caller.socket):
            return False
        timeout = min(POLL_SECONDS, idle_seconds - quiet) if idle_seconds else POLL_SECONDS
        done, _ = await asyncio.wait(directions, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if done:
            return False


async def write_last(caller: IOStream, words: bytes) -> None:
    """Write the last words of a stream, for which a caller that reads nothing has little time."""
    if words and not caller.closed():
        await asyncio.wait([asyncio.ensure_future(caller.write(words))], timeout=scaled(LINGER_SECONDS))


def _end_output(caller: IOStream) -> None:
    with suppress(OSError):  # it has closed meanwhile
        caller.socket.shutdown(socket.SHUT_WR)


async def drop_input(caller: IOStream, turns: LoopTurns) -> None:
    """Read and drop input until the caller closes: the runtime accepts no more, but its output may not be complete."""
    with suppress(StreamClosedError):
        while True:
            await caller.read_bytes(CHUNK_BYTES, partial=True)
            await turns.take()
            await asyncio.sleep(0)


async def _input(
    caller: IOStream,
    runtime: IOStream,
    status: PassedStatus | None,
    frames: CallerFrames | None,
    activity: Activity,
) -> None:
    """Copy the input until the caller closes, or sends what the runtime must not get."""

    def passed(data: bytes) -> bytes:
        """Raises SpdyError."""
        data = data if frames is None else frames.checked(data)
        if status is not None:
            status.from_caller(data)
        return data

    try:
        await _copy(caller, runtime, activity, LINGER_SECONDS, passed)
    except SpdyError:
        return
    if not caller.closed():
        await drop_input(caller, activity.turns)


async def _output(runtime: IOStream, caller: IOStream, status: PassedStatus | None, activity: Activity) -> None:
    """Copy the output until the runtime closes and the caller has all of it, or the caller closes."""

    def passed(data: bytes) -> bytes:
        if status is not None:
            status.from_runtime(data)
        return data

    await _copy(runtime, caller, activity, None, passed)
    if status is not None:
        await write_last(caller, status.last_words(RUNTIME_LEFT))


async def _copy(
    source: IOStream,
    target: IOStream,
    activity: Activity,
    linger: float | None,
    passed: Callable[[bytes], bytes],
) -> None:
    """Copy until the source ends and all of it is written, or the target closes. `linger`: how long the target may take
    for each piece once the source has closed; None: as long as it likes. `passed`: what is written of each piece."""
    try:
        while True:
            data = await source.read_bytes(CHUNK_BYTES, partial=True)
            activity.seen()
            await activity.turns.take()
            written = target.write(passed(data))
            if source.closed() and linger is not None:
                await asyncio.wait([asyncio.ensure_future(written)], timeout=linger)
            else:
                await written
            await asyncio.sleep(0)  # neither reading nor writing pauses while both ends keep up
    except StreamClosedError:
        return
